/** Looking at the permits that are held in a store, and a store that is heard no more. */

import { type Answer, memoryStore, type Step, type Store } from '@spillway/core';
import { makeLeasesRule } from '@spillway/core/store';
import { ManualClock } from '@spillway/core/testing';

/** How many permits a key of a limit holds in a store. */
export function held(store: Store, limiter = 'two', key = '@203.0.113.7'): number {
  const rule = makeLeasesRule(100, 60_000_000);
  const [answer] = store.apply([
    { op: 'look', limiter, key, rule, cost: 1, binding: true },
  ]) as readonly Answer[];
  return (answer as { used: number }).used;
}

/** A store that does what it is asked and then fails to say so, while `mute`. */
export class MuteStore implements Store {
  readonly sync = false;
  readonly memory = memoryStore({ clock: new ManualClock() });
  mute = false;

  apply(steps: readonly Step[]): Promise<readonly Answer[]> {
    const answers = this.memory.apply(steps);
    return this.mute ? Promise.reject(new Error('no reply')) : Promise.resolve(answers);
  }
}

/** A store that hears nothing while `deaf`. */
export class DeafStore implements Store {
  readonly sync = false;
  readonly memory = memoryStore({ clock: new ManualClock() });
  deaf = false;
  unheard = 0;

  apply(steps: readonly Step[]): Promise<readonly Answer[]> {
    if (!this.deaf) return Promise.resolve(this.memory.apply(steps));
    this.unheard += 1;
    return Promise.reject(new Error('not heard'));
  }
}
