/** A check without its service yet: a sentence and its proof. */

import type { Visit } from '../visit.js';

export type Sentence = readonly [name: string, prove: (visit: Visit) => Promise<void>];

/** 0 up to `count`. */
export function times(count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => index);
}
