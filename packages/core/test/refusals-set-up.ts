/** A remote store that counts its calls, with a manual clock. */

import {
  type Admission,
  type Answer,
  createGuard,
  type GuardOptions,
  type Limiter,
  type LimitRequest,
  memoryStore,
  rateLimit,
  type Step,
  type Store,
} from '@spillway/core';
import { remoteStore } from '@spillway/core/store';
import { ManualClock } from '@spillway/core/testing';
import { request } from 'spillway-testkit';
import { expect } from 'vitest';

/** A store that answers later, by the same clock as the process, and counts its steps. */
export class Remote implements Store {
  readonly sync = false;
  readonly clock = new ManualClock();
  readonly testClock = this.clock;
  readonly memory = memoryStore({ clock: this.clock });
  asked = 0;
  /** Where calls wait between the decision and the reply. */
  held: (() => void)[] | undefined;

  async apply(steps: readonly Step[]): Promise<readonly Answer[]> {
    this.asked += steps.length;
    const answers = this.memory.apply(steps);
    const { held } = this;
    if (held) await new Promise<void>((resolve) => held.push(resolve));
    return answers;
  }
}

export function setUp(limiters: Limiter | readonly Limiter[] = one, options: GuardOptions = {}) {
  const store = remoteStore(new Remote());
  const guard = createGuard(limiters, { store, ...options });
  const admit = async (of: Partial<LimitRequest> = {}): Promise<Admission> =>
    guard.admit(request(of));
  /** The decision of the first limiter, and how many steps it sent to the store. */
  const ask = async (of: Partial<LimitRequest> = {}) => {
    const before = store.asked;
    const { decisions } = await admit(of);
    return { ...decisions[0], calls: store.asked - before };
  };
  return { store, clock: store.clock, guard, admit, ask };
}

export const one = rateLimit({ name: 'one', limit: 1, window: '1m' });

export function stepOf(limiter: Limiter, path: string): Step {
  if (limiter.kind !== 'stored') throw new Error('not stored');
  const step = limiter.step(request({ path }), true, {
    onStoreError: 'allow',
    fault: () => expect.unreachable(),
  });
  if (step instanceof Promise) throw new Error('a promise from callbacks that answer at once');
  return step as Step;
}
