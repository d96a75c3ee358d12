/** A check for any service: a sentence about the service, and the function that proves it. */

import type { Visit } from '../visit.js';

export type Sentence = readonly [name: string, prove: (visit: Visit) => Promise<void>];

export function times(count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => index);
}
