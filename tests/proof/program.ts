/** What each simulated process runs: core, shapers and the store on Redis, over the simulated network. */

import type { Program } from '@spillway/conformance/simulator';
import * as core from '@spillway/core';
import { redisControl, redisStore } from '@spillway/redis';
import { clientOf } from './link-client.js';

export { fetchGuard } from '@spillway/core/fetch';
export { withDebt } from '@spillway/core/store';
export { createShaper } from '@spillway/outgoing';
export { core };

export const open: Program['open'] = (link) => redisStore(clientOf(link), { logger: false });

export const openControl: Program['openControl'] = (link) => redisControl(clientOf(link));
