/** A store that answers like the oracle, and so is correct by construction. */

import type { Answer, Step, SyncStore } from '@spillway/core';
import { type OpenStore, Oracle } from '../src/index.js';

/** A reference store whose time can be set. */
export interface ReferenceStore extends SyncStore, OpenStore {
  readonly store: ReferenceStore;
  readonly nowUs: number;
}

export function referenceStore(): ReferenceStore {
  const oracle = new Oracle();
  let nowUs = 0;
  const store: ReferenceStore = {
    sync: true,
    apply: (steps: readonly Step[]): readonly Answer[] =>
      oracle.apply(steps, nowUs).map((verdict) => verdict.answer),
    setTimeUs(us) {
      nowUs = us;
    },
    get store() {
      return store;
    },
    get nowUs() {
      return nowUs;
    },
  };
  return store;
}
