/** A guard with permits over a remote store, which may be down, slow, or lose its data. */

import {
  type Admission,
  type Answer,
  type BreakerEvent,
  concurrencyLimit,
  createGuard,
  type GuardOptions,
  memoryStore,
  type Step,
  type Store,
} from '@spillway/core';
import { type ApplyOptions, remoteStore, systemClock } from '@spillway/core/store';
import { held, request } from 'spillway-testkit';
import { vi } from 'vitest';

type Ops = Partial<Record<Step['op'], number>>;

/** A remote store. It may be down, and may be slow with renewals or releases. */
export class FarStore implements Store {
  readonly sync = false;
  memory = memoryStore({ clock: systemClock });
  readonly asked: {
    readonly step: Step;
    readonly options: ApplyOptions | undefined;
    readonly heard: boolean;
  }[] = [];
  down = false;
  /** How long each operation takes before it is done, in milliseconds. */
  readonly delayMs: Ops = {};

  async apply(steps: readonly Step[], options?: ApplyOptions): Promise<readonly Answer[]> {
    for (const step of steps) this.asked.push({ step, options, heard: !this.down });
    if (this.down) throw new Error('down');
    const ms = this.delayMs[steps[0]?.op ?? 'look'];
    if (ms) await new Promise((resolve) => setTimeout(resolve, ms));
    if (this.down) throw new Error('went down meanwhile');
    return this.memory.apply(steps);
  }

  /** Calls that were not rejected. */
  arrived(op: Step['op']): number {
    return this.asked.filter(({ step, heard }) => heard && step.op === op).length;
  }

  count(op: Step['op']): number {
    return this.asked.filter(({ step }) => step.op === op).length;
  }

  get held(): number {
    return held(this.memory, 'many', 'all');
  }
}

export function setUp(options: GuardOptions = {}) {
  const store = remoteStore(new FarStore());
  const limit = concurrencyLimit({ name: 'many', limit: 90, key: 'all', lease: '60s' });
  const breaker: BreakerEvent[] = [];
  const guard = createGuard(limit, {
    store,
    logger: false,
    observers: [{ onBreaker: (event) => breaker.push(event) }],
    ...options,
  });
  const take = async (count: number): Promise<Admission[]> => {
    const all: Admission[] = [];
    for (let i = 0; i < count; i += 1) all.push(await guard.admit(request()));
    return all;
  };
  /** Waits until the probe in the background has found the store. */
  const comeBack = async () => {
    store.down = false;
    await vi.advanceTimersByTimeAsync(300);
    await take(1).then(([one]) => one?.release({}));
    await vi.advanceTimersByTimeAsync(300);
  };
  return { store, guard, take, breaker, comeBack };
}
