/** bottleneck, p-queue, p-throttle, limiter, and Spillway behind their options: what is the same, and what is not. */

import { describe } from 'vitest';
import { behaves } from './behaves.js';
import { queues } from './queues/suite.js';
import { virtualTime } from './world.js';

virtualTime();
for (const suite of queues) describe(suite.peer, () => behaves(suite));
