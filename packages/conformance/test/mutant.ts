/** Makes stores that are wrong in one way from a correct store. */

import { type Answer, memoryStore, type Step, type Store } from '@spillway/core';
import { ManualClock } from '@spillway/core/testing';
import type { OpenStore } from '../src/index.js';
import { type ReferenceStore, referenceStore } from './reference-store.js';

export interface Mutant {
  /** What is wrong with it. */
  readonly name: string;
  /** The check that must notice, by the beginning of its name. */
  readonly caughtBy: string;
  open(): OpenStore;
}

type Apply = (right: ReferenceStore, steps: readonly Step[]) => ReturnType<Store['apply']>;

export function mutant(name: string, caughtBy: string, apply: Apply): Mutant {
  return {
    name,
    caughtBy,
    open() {
      const right = referenceStore();
      const store: Store = { sync: false, apply: (steps) => apply(right, steps) };
      return { store, setTimeUs: (us) => right.setTimeUs(us) };
    },
  };
}

/** The memory store, but each step is changed before it is applied. */
export function memory(change: (step: Step) => Step): OpenStore {
  const clock = new ManualClock();
  const right = memoryStore({ clock });
  const store: Store = { sync: true, apply: (group) => right.apply(group.map(change)) };
  return { store, setTimeUs: (us) => clock.setUs(us) };
}

/** A store that changes each step before it answers. */
export function steps(name: string, caughtBy: string, change: (step: Step) => Step): Mutant {
  return mutant(name, caughtBy, (right, group) => right.apply(group.map(change)));
}

/** A store that counts under another key or limiter. */
export function names(
  name: string,
  caughtBy: string,
  change: (limiter: string, key: string) => readonly [limiter: string, key: string],
): Mutant {
  return steps(name, caughtBy, (step) => {
    const [limiter, key] = change(step.limiter, step.key);
    return { ...step, limiter, key };
  });
}

/** A store that decides by a wrong clock, but reports the right time. */
export function clock(
  name: string,
  caughtBy: string,
  warp: () => (nowUs: number) => number,
): Mutant {
  return {
    name,
    caughtBy,
    open() {
      const right = referenceStore();
      const warped = warp();
      let nowUs = 0;
      const apply = (group: readonly Step[]): Answer[] => {
        right.setTimeUs(warped(nowUs));
        return right.apply(group).map((answer) => ({ ...answer, nowUs }));
      };
      return {
        store: { sync: false, apply },
        setTimeUs(us) {
          nowUs = us;
        },
      };
    },
  };
}

/** A store that changes each step on leases before it answers. */
export function leaseSteps(name: string, caughtBy: string, change: (step: Step) => Step): Mutant {
  return steps(name, caughtBy, (step) => (step.rule.machine === 'leases' ? change(step) : step));
}
