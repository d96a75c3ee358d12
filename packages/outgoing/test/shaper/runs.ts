/** Fleets of shapers over one store, and records of how many jobs run at once. */

import { memoryStore } from '@spillway/core';
import { remoteStore, systemClock } from '@spillway/core/store';
import { createShaper, type Shaper, type ShaperSettings } from '@spillway/outgoing';
import { FarStore, Starts } from './set-up.js';

export const quiet = { logger: false, random: () => 0 } as const;
export const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** Runs jobs of some shapers, and records how many run at once. */
export class Runs extends Starts {
  now = 0;
  most = 0;
  readonly byName = new Map<string, number>();

  run(shaper: Shaper, name: string, ms: number, options: object = {}, key = 'acme'): void {
    const work = async () => {
      this.all.push({ name, ms: this.nowMs });
      this.now += 1;
      this.most = Math.max(this.most, this.now);
      await sleep(ms);
      this.now -= 1;
    };
    shaper
      .schedule(key, work, options)
      .catch((error: unknown) => this.errors.push({ name, error }));
  }

  runMany(shaper: Shaper, count: number, options: { ms?: number; name?: string } = {}): void {
    const { ms = 100, name } = options;
    for (let i = 0; i < count; i += 1) this.run(shaper, name ?? String(i), ms);
  }
}

export function fleetOf(count: number, options: object, settings: ShaperSettings = {}) {
  const memory = memoryStore({ clock: systemClock });
  const stores = Array.from({ length: count }, () => remoteStore(new FarStore(memory)));
  const shapers = stores.map((store) =>
    createShaper(
      { name: 'calls', maxConcurrent: 2, ...options },
      { localShare: 1, ...quiet, ...settings, store },
    ),
  );
  return { memory, stores, shapers, runs: new Runs() };
}
