import type { LeasesAnswer } from '../../contract/ask.js';
import type { Numbers } from '../../contract/decision.js';
import type { LeasesRule, Machine } from '../../contract/rule.js';
import { permitUpkeep } from '../upkeep/permits.js';
import { LeaseShelf } from './lease-shelf.js';

const leasesMachine: Machine = {
  upkeep: permitUpkeep,
  same: (rule: LeasesRule, other: LeasesRule) =>
    rule.open === other.open && rule.leaseUs === other.leaseUs,
  capacity: ({ limit }: LeasesRule) => limit,
  share(rule: LeasesRule, share): LeasesRule {
    const part = (permits: number) => Math.max(1, Math.floor(permits * share));
    return { ...rule, limit: part(rule.limit), open: Math.min(rule.open, part(rule.open)) };
  },
  policy: (name, { limit }: LeasesRule) => ({
    name,
    unit: 'concurrent-requests',
    limit,
    windowMs: Infinity,
    burst: limit,
  }),
  declared({ limit, open, leaseUs }: LeasesRule) {
    const reserved = open === limit ? {} : { open };
    return { algorithm: 'concurrency', limit, ...reserved, leaseMs: leaseUs / 1000 };
  },
  described: ({ limit, open, leaseUs }: LeasesRule) =>
    `${limit} at once (${open} if not critical, leases of ${leaseUs / 1000} ms)`,
  expiresAfterUs: ({ leaseUs }: LeasesRule) => leaseUs,
  measure: measureLeases,
  receipt: (_, units) => ({ atUs: 0, num: 0, units }),
  merges: false,
  shelf: () => new LeaseShelf(),
};

/**
 * Makes the rule of a concurrency limit: `limit` from 1 to 10^9, `leaseUs` from 1 s to 24 hours in microseconds.
 * `reserve`, 0 to 1 in steps of one millionth, is the share of the limit that only critical holders may use. All others
 * together get at most (1 - reserve) x limit permits, rounded up.
 */
export function makeLeasesRule(limit: number, leaseUs: number, reserve = 0): LeasesRule {
  // Calculated in millionths, because (1 - 0.7) x 10 is slightly more than 3 in floating point.
  const open = Math.ceil((limit * (1_000_000 - Math.round(reserve * 1_000_000))) / 1_000_000);
  return { machine: 'leases', logic: leasesMachine, code: 'p', limit, open, leaseUs };
}

/**
 * The numbers of a decision. `resetMs`, and the `retryAfterMs` of a rejection, are NaN, because nobody knows when the
 * running requests end.
 */
function measureLeases(rule: LeasesRule, answer: LeasesAnswer): Numbers {
  const { allowed, used, critical } = answer;
  return {
    used,
    remaining: Math.max(0, Math.min(rule.limit - used, rule.open - (used - critical))),
    retryAfterMs: allowed ? 0 : Number.NaN,
    resetMs: Number.NaN,
  };
}
