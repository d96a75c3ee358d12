/** Which part of its store a step depends on. */

import type { Step, Store } from '../contract/store.js';

/** `''` where there is only one part, or nobody knows. */
export function domainOf(store: Pick<Store, 'domainOf'>, step: Step): string {
  try {
    return store.domainOf?.(step) ?? '';
  } catch {
    return '';
  }
}
