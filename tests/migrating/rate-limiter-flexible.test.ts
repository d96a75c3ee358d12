/** rate-limiter-flexible and Spillway behind its options: what is the same, and what is not. */

import { behaves } from './behaves.js';
import { rateLimiterFlexible } from './rate-limiter-flexible/suite.js';
import { virtualTime } from './world.js';

virtualTime();
behaves(rateLimiterFlexible);
