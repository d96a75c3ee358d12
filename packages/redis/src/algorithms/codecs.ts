import type { Rule } from '@spillway/core/store';
import { bucket } from './bucket/bucket-codec.js';
import { calendar } from './calendar/calendar-codec.js';
import { claims } from './claims/claim-codec.js';
import type { Codec, CodecOf } from './codec.js';
import { distinct } from './distinct/distinct-codec.js';
import { leases } from './leases/lease-codec.js';
import { lock } from './lock/lock-codec.js';
import { log } from './log/log-codec.js';
import { queue } from './queue/queue-codec.js';
import { window } from './window/window-codec.js';

const CODECS: { readonly [Name in Rule['machine']]: CodecOf<Name> } = {
  bucket,
  queue,
  window,
  calendar,
  log,
  leases,
  claims,
  lock,
  distinct,
};

export function codecOf(rule: Rule): Codec {
  return CODECS[rule.machine];
}

export function allCodecs(): readonly Codec[] {
  return Object.values(CODECS);
}
