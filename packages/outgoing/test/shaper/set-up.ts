/** Shapers in virtual time, and records of when their work starts. */

import { type Answer, memoryStore, type Step, type Store } from '@spillway/core';
import { makeShaperRule, remoteStore, systemClock } from '@spillway/core/store';
import {
  createShaper,
  type OnePaceOptions,
  type ScheduleOptions,
  type Shaper,
  type ShaperSettings,
} from '@spillway/outgoing';
import { vi } from 'vitest';

export const FOUR: OnePaceOptions = { name: 'calls', limit: 4, window: '1s' };

/** A store far away: each call takes `delayMs` in each direction, or fails. Its clock may differ from ours. */
export class FarStore implements Store {
  readonly sync = false;
  readonly asked: Step[] = [];
  /** Which calls fail: all, or those with a step of this kind. */
  down: boolean | Step['op'] = false;
  delayMs = 0;
  /** Steps of this kind are done, but their answer is lost. */
  loses: Step['op'] | undefined;
  /** How much longer each kind of step takes before the store does it. */
  readonly slowMs: Partial<Record<Step['op'], number>> = {};
  memory: Pick<Store, 'apply'>;

  constructor(memory: Pick<Store, 'apply'> = memoryStore({ clock: systemClock })) {
    this.memory = memory;
  }

  async apply(steps: readonly Step[]): Promise<readonly Answer[]> {
    this.asked.push(...steps);
    const op = steps[0]?.op ?? 'look';
    const ms = this.delayMs + (this.slowMs[op] ?? 0);
    if (ms > 0) await sleep(ms);
    if (this.down === true || this.down === op) throw new Error('down');
    const answers = await this.memory.apply(steps);
    if (this.loses === op) throw new Error('lost');
    if (this.delayMs > 0) await sleep(this.delayMs);
    return answers;
  }

  count(op: Step['op']): number {
    return this.asked.filter((step) => step.op === op).length;
  }
}

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Records when jobs start, in milliseconds since this object was made. */
export class Starts {
  readonly all: { readonly name: string; readonly ms: number }[] = [];
  readonly errors: { readonly name: string; readonly error: unknown }[] = [];
  private readonly sinceUs = systemClock.nowUs();

  get nowMs(): number {
    return (systemClock.nowUs() - this.sinceUs) / 1_000;
  }

  get ms(): readonly number[] {
    return this.all.map(({ ms }) => ms);
  }

  get names(): readonly string[] {
    return this.all.map(({ name }) => name);
  }

  get codes(): readonly unknown[] {
    return this.errors.map(({ error }) => (error as { code?: string }).code ?? error);
  }

  /** The shortest time between two starts. */
  get leastGap(): number {
    const gaps = this.ms.slice(1).map((ms, at) => ms - (this.ms[at] as number));
    return Math.min(...gaps);
  }

  schedule(shaper: Shaper, name: string, options: ScheduleOptions & { key?: string } = {}): void {
    const { key = 'acme', ...own } = options;
    shaper
      .schedule(key, () => this.all.push({ name, ms: this.nowMs }), own)
      .catch((error: unknown) => this.errors.push({ name, error }));
  }

  many(shaper: Shaper, count: number, options: ScheduleOptions & { key?: string } = {}): void {
    for (let i = 0; i < count; i += 1) this.schedule(shaper, String(i), options);
  }
}

export function setUp(options: Partial<OnePaceOptions> = {}, settings: ShaperSettings = {}) {
  const starts = new Starts();
  const shaper = createShaper({ ...FOUR, ...options }, { random: () => 0, ...settings });
  return { shaper, starts };
}

/** Two processes over one store, each with its own store object. */
export function twoProcesses(options: Partial<OnePaceOptions> = {}, settings: ShaperSettings = {}) {
  const memory = memoryStore({ clock: systemClock });
  const stores = [remoteStore(new FarStore(memory)), remoteStore(new FarStore(memory))] as const;
  const [here, there] = stores.map((store) =>
    createShaper(
      { ...FOUR, ...options },
      { localShare: 1 / 2, random: () => 0, logger: false, ...settings, store },
    ),
  ) as [Shaper, Shaper];
  return { stores, here, there, starts: new Starts() };
}

/** Resets a key in the store, as an operator does. Any rule will do. */
export async function resetKey(store: Store, limiter: string, key: string): Promise<void> {
  const rule = makeShaperRule(1, 1_000_000, 1, 0);
  await store.apply([{ op: 'reset', limiter, key, rule, cost: 1, binding: true }]);
}

/** Lets `ms` pass, and runs all timers that are due. */
export const pass = async (ms: number): Promise<void> => {
  await vi.advanceTimersByTimeAsync(ms);
};
