/** A store that answers what the oracle says: right by construction. */

import type { Answer, Step, SyncStore } from '@spillway/core';
import { type OpenStore, Oracle } from '../src/index.js';

/** A reference store that can be told the time. */
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
