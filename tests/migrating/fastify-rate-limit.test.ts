/** @fastify/rate-limit and Spillway behind its options: what is the same, and what is not. */

import { behaves } from './behaves.js';
import { fastifyRateLimit } from './fastify-rate-limit/suite.js';
import { virtualTime } from './world.js';

virtualTime();
behaves(fastifyRateLimit);
