import { type Answer, memoryStore, type Step, type Store } from '@spillway/core';
import { makeLeasesRule, remoteStore } from '@spillway/core/store';
import { ManualClock } from '@spillway/core/testing';

/** Wraps a memory store. Each call is recorded, and waits for `answer()`. */
export class SlowStore implements Store {
  readonly sync = false;
  readonly calls: (readonly Step[])[] = [];
  private readonly memory = memoryStore();
  private held: (() => void)[] = [];

  async apply(steps: readonly Step[]): Promise<readonly Answer[]> {
    this.calls.push(steps);
    await new Promise<void>((resolve) => this.held.push(resolve));
    return this.memory.apply(steps);
  }

  answer(): number {
    const { held } = this;
    this.held = [];
    for (const go of held) go();
    return held.length;
  }
}

/** Fails every call. Spread it to give each guard a separate store: `{ ...brokenStore }`. */
export const brokenStore: Store = remoteStore({
  sync: false,
  apply: () => Promise.reject(new Error('the store is down')),
});

export function held(store: Store, limiter = 'two', key = '@203.0.113.7'): number {
  const rule = makeLeasesRule(100, 60_000_000);
  const [answer] = store.apply([
    { op: 'look', limiter, key, rule, cost: 1, binding: true },
  ]) as readonly Answer[];
  return (answer as { used: number }).used;
}

/** A store whose replies are lost while `mute`: it executes calls, then rejects. */
export class MuteStore implements Store {
  readonly sync = false;
  readonly memory = memoryStore({ clock: new ManualClock() });
  mute = false;

  apply(steps: readonly Step[]): Promise<readonly Answer[]> {
    const answers = this.memory.apply(steps);
    return this.mute ? Promise.reject(new Error('no reply')) : Promise.resolve(answers);
  }
}

/** A store that receives no calls while `deaf`: calls reject without an effect. */
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
