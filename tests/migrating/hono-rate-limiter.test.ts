/** hono-rate-limiter and Spillway behind its options: what is the same, and what is not. */

import { behaves } from './behaves.js';
import { honoRateLimiter } from './hono-rate-limiter/suite.js';
import { virtualTime } from './world.js';

virtualTime();
behaves(honoRateLimiter);
