import {
  type Admission,
  type Control,
  createGuard,
  type DecisionEvent,
  type Fault,
  type GuardOptions,
  type Limiter,
  type MemoryControl,
  memoryStore,
  type Policy,
} from '@spillway/core';
import { ManualClock } from '@spillway/core/testing';
import { request } from '../request.js';

type Methods = Omit<MemoryControl, keyof Control>;

export type AnyControl = Control & {
  [Name in keyof Methods]: (
    ...args: Parameters<Methods[Name]>
  ) => ReturnType<Methods[Name]> | Promise<ReturnType<Methods[Name]>>;
};

export const ada = { by: 'ada', because: 'a test' } as const;
export const two = { name: 'two', limit: 2, window: '1m' } as const;
export const byUser = {
  key: (of: { header(name: string): string | undefined }) => of.header('x-user'),
};

export function guarded(
  control: Control,
  limiters: Limiter | Limiter[],
  options: GuardOptions = {},
) {
  const clock = new ManualClock();
  const events: DecisionEvent[] = [];
  const faults: Fault[] = [];
  const guard = createGuard(limiters, {
    store: memoryStore({ clock }),
    control,
    onDecision: (event) => events.push(event),
    onFault: (fault) => faults.push(fault),
    ...options,
  });
  const admit = (user?: string, headers: Record<string, string> = {}): Admission => {
    const named = user === undefined ? headers : { ...headers, 'x-user': user };
    return guard.admit(request({ headers: named })) as Admission;
  };
  /** Sends a request of a user and returns the first limiter's policy. `plan` is the limit of the user's plan. */
  const policy = (user?: string, plan = 1): Policy =>
    admit(user, { 'x-plan': `${plan}` }).decisions[0]?.policy as Policy;
  const times = (count: number, user?: string) =>
    Array.from({ length: count }, () => admit(user).allowed);
  return { clock, admit, policy, times, events, faults };
}

export type Make = () => AnyControl | Promise<AnyControl>;
