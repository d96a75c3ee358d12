/** A store whose calls a test answers or fails one by one, behind a breaker with a manual clock. */

import {
  type Answer,
  createGuard,
  type GuardOptions,
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
import { remoteState } from '../src/stores/remote-state.js';

/** The name of the limiter under which a breaker probes a store. */
export const PROBE = '\u0001probe';

/** A store that answers later, fails with `error`, or leaves calls open. */
export class Patient implements Store {
  readonly sync = false;
  readonly memory = memoryStore();
  readonly asked: Step[] = [];
  error: Error | undefined;
  readonly open: (() => void)[] = [];
  silent = false;

  apply(steps: readonly Step[]): Promise<readonly Answer[]> {
    this.asked.push(...steps);
    const { error } = this;
    const answer = async () => {
      if (error) throw error;
      return this.memory.apply(steps);
    };
    if (!this.silent) return answer();
    return new Promise((resolve, reject) => {
      this.open.push(() => answer().then(resolve, reject));
    });
  }

  /** Calls for callers, without the probes of the breaker. */
  get calls(): number {
    return this.asked.filter(({ limiter }) => limiter !== PROBE).length;
  }

  get probes(): number {
    return this.asked.length - this.calls;
  }
}

export const lost = new Error('connection lost');
export const SETTINGS = { failures: 3, probeUs: 100_000 };

export function setUp(options: GuardOptions = {}) {
  const clock = new ManualClock();
  const store = remoteStore(new Patient());
  // The first user of the breaker determines its clock.
  remoteState(store, clock).breaker(SETTINGS);
  const warnings: string[] = [];
  const logger = { warn: (line: string) => warnings.push(line) };
  const make = (name: string, own: GuardOptions = {}) =>
    createGuard(rateLimit({ name, limit: 1_000, window: '1m' }), {
      store,
      logger,
      ...options,
      ...own,
    });
  const guard = make('a');
  const ask = async (of = guard, host: Pick<LimitRequest, 'waitUntil'> = {}) =>
    (await of.admit({ ...request(), ...host })).decisions[0]?.outcome;
  const fail = async (times: number, error: Error = lost) => {
    store.error = error;
    for (let i = 0; i < times; i += 1) expect(await ask()).toBe('error');
  };
  return { clock, store, warnings, make, ask, fail };
}

/** Lets background work that needs no time finish. */
export const background = () => new Promise((resolve) => setImmediate(resolve));
