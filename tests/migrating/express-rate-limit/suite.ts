/** The behaviours of express-rate-limit, gathered from its documentation and from what its tests check. */

import type { Suite } from '../cases.js';
import { answers } from './answers.js';
import { counting } from './counting.js';
import { ours, type Subject, theirs } from './subject.js';

export const expressRateLimit: Suite<Subject> = {
  peer: 'express-rate-limit',
  cases: [...counting, ...answers],
  theirs: () => theirs,
  ours: () => ours,
};
