/** koa-ratelimit and Spillway behind its options: what is the same, and what is not. */

import { behaves } from './behaves.js';
import { koaRatelimit } from './koa-ratelimit/suite.js';
import { virtualTime } from './world.js';

virtualTime();
behaves(koaRatelimit);
