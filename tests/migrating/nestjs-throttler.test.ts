/** @nestjs/throttler and Spillway behind its options: what is the same, and what is not. */

import { behaves } from './behaves.js';
import { nestjsThrottler } from './nestjs-throttler/suite.js';
import { virtualTime } from './world.js';

virtualTime();
behaves(nestjsThrottler);
