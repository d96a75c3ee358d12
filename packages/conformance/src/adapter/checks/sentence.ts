/** A check that is not yet bound to a service: its name is a sentence, and its function proves the sentence. */

import type { Visit } from '../visit.js';

export type Sentence = readonly [name: string, prove: (visit: Visit) => Promise<void>];

export function times(count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => index);
}
