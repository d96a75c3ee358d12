/** What a simulated process of the packed release runs: the version that began the present stored format. */

import type { Link, Program } from '@spillway/conformance/simulator';
// @ts-expect-error it has no types
import * as release from '../format/releases/1.js';
import { clientOf } from './link-client.js';

export const core: Program['core'] = release.core;
export const fetchGuard: Program['fetchGuard'] = release.fetch.fetchGuard;
// In this release, shapers may still be in core.
export const createShaper: Program['createShaper'] = (release.outgoing ?? release.core)
  .createShaper;

export const open: Program['open'] = (link: Link) =>
  release.redis.redisStore(clientOf(link), { logger: false });

export const openControl: Program['openControl'] = (link: Link) =>
  release.redis.redisControl(clientOf(link));
