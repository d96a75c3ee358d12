/** A check before it is bound to a service: a sentence and its proof. */

import type { Visit } from '../visit.js';

export type Sentence = readonly [name: string, prove: (visit: Visit) => Promise<void>];

/** 0 to `count` - 1. */
export function times(count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => index);
}
