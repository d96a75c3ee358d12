/** The store in this process that counts while another does not answer. */

import { memoryStore } from '../memory/memory-store.js';
import type { Store, SyncStore } from '../store.js';

const LOCAL = Symbol('spillway.local');

/** The one store in this process that stands in for another, whoever uses it: guards that share limits share its counts too. */
export function localOf(store: Store): SyncStore {
  const owner = store as Store & { [LOCAL]?: SyncStore };
  if (!owner[LOCAL]) Object.defineProperty(owner, LOCAL, { value: lazyMemoryStore() });
  return owner[LOCAL] as SyncStore;
}

/** Made when first needed: most never are. */
function lazyMemoryStore(): SyncStore {
  let memory: SyncStore | undefined;
  return {
    sync: true,
    apply(steps) {
      memory ??= memoryStore();
      return memory.apply(steps);
    },
  };
}
