/** The codec of each algorithm: calls, replies and the script have no other list of algorithms. */

import type { Rule } from '@spillway/core/store';
import { bucket } from './bucket/codec.js';
import { calendar } from './calendar/codec.js';
import { claims } from './claims/codec.js';
import type { Codec } from './codec.js';
import { leases } from './leases/codec.js';
import { log } from './log/codec.js';
import { queue } from './queue/codec.js';
import { window } from './window/codec.js';

const CODECS: { readonly [M in Rule['machine']]: Codec<Extract<Rule, { machine: M }>> } = {
  bucket,
  queue,
  window,
  calendar,
  log,
  leases,
  claims,
};

/** The codec of a rule's algorithm. */
export function codecOf(rule: Rule): Codec {
  return CODECS[rule.machine];
}

/** All of them, in the order in which the script has their Lua. */
export function allCodecs(): readonly Codec[] {
  return Object.values(CODECS);
}
