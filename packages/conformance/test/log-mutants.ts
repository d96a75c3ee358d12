/** Stores whose sliding window log is wrong in one way each. */

import { capacityOf } from '@spillway/core/store';
import { type Mutant, mutant } from './mutant.js';
import type { ReferenceStore } from './reference-store.js';

export const logMutants: readonly Mutant[] = [
  mutant('takes the instant 0 for no instant', 'promises a true wait at', (right, group) =>
    right
      .apply(group)
      .map((answer) =>
        'freesUs' in answer && answer.freesUs === 0 ? { ...answer, freesUs: -1 } : answer,
      ),
  ),
  mutant('repairs a log when it looks', 'writes nothing when it looks', (right, group) => {
    const answers = right.apply(group);
    const looks = group.filter(({ op }) => op === 'look');
    right.apply(looks.map((step) => ({ ...step, op: 'take', cost: capacityOf(step.rule) + 1 })));
    return answers;
  }),
  mutant('gives back all of an instant', 'gives back by its instant', (right, group) =>
    right.apply(group.map((step) => (step.op === 'put' ? { ...step, cost: 1e9 } : step))),
  ),
  mutant('loses a log after 200 steps', 'replays logs of hundreds', (right, group) => {
    const counts = counted.get(right) ?? 0;
    counted.set(right, counts + 1);
    if (counts === 200) right.apply(group.map((step) => ({ ...step, op: 'reset' })));
    return right.apply(group);
  }),
];

const counted = new WeakMap<ReferenceStore, number>();
