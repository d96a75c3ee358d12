/** The behaviours of rate-limiter-flexible, gathered from its documentation and from what its tests check. */

import type { Suite } from '../cases.js';
import { blocksAndGroups } from './blocks-and-groups.js';
import { keys } from './keys.js';
import { ours, type Subject, theirs } from './subject.js';

export const rateLimiterFlexible: Suite<Subject> = {
  peer: 'rate-limiter-flexible',
  cases: [...keys, ...blocksAndGroups],
  theirs: () => theirs,
  ours: () => ours,
};
