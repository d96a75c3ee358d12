/** The algorithms, implemented as literally and slowly as possible, to check the oracle. */

import type { BucketRule, LogRule, RateRule, WindowRule } from '@spillway/core/store';
import { Fraction, lesser } from '../src/oracle/fraction.js';

/** Whether a cost passes at an instant, and what happens if it is charged; instants never go back. */
export interface Literal {
  passes(us: number, cost: number): boolean;
  charge(us: number, cost: number): void;
  /** Units that count at an instant, rounded up. */
  used(us: number): number;
  /** Whether nothing charged still counts. */
  rested(us: number): boolean;
}

/** A bucket of `burst` tokens, refilled continuously at `limit / window`. */
function literalBucket(rule: BucketRule): Literal {
  const burst = Fraction.of(rule.burst);
  let tokens = burst;
  let lastUs = 0;
  const level = (us: number): Fraction => {
    const grown = Fraction.of(BigInt(us - lastUs) * BigInt(rule.limit), rule.windowUs);
    return lesser(burst, tokens.plus(grown));
  };
  return {
    passes: (us, cost) => Fraction.of(cost).atMost(level(us)),
    charge(us, cost) {
      tokens = level(us).minus(Fraction.of(cost));
      lastUs = us;
    },
    used: (us) => Number(burst.minus(level(us)).ceil()),
    rested: (us) => burst.atMost(level(us)),
  };
}

interface Event {
  readonly us: number;
  readonly cost: number;
}

function units(events: readonly Event[], from: number, to: number): number {
  return events.filter(({ us }) => us >= from && us < to).reduce((sum, { cost }) => sum + cost, 0);
}

/** Every event is stored, and the windows are computed anew each time, one after the other, from the first event on. */
function literalAnchored({ windowUs, limit }: WindowRule): Literal {
  const events: Event[] = [];
  const used = (us: number): number => {
    let start = -Infinity;
    for (const event of events) if (event.us >= start + windowUs) start = event.us;
    return us < start + windowUs ? units(events, start, start + windowUs) : 0;
  };
  return {
    passes: (us, cost) => used(us) + cost <= limit,
    charge: (us, cost) => void events.push({ us, cost }),
    used,
    rested: (us) => used(us) === 0,
  };
}

/** Every event is stored, and the counts are computed anew each time. */
function literalWindow(rule: WindowRule): Literal {
  const events: Event[] = [];
  const { windowUs: w, limit } = rule;
  const counts = (us: number): { previous: number; current: number; left: number } => {
    const start = Math.floor(us / w) * w;
    const previous = rule.kind === 'sliding' ? units(events, start - w, start) : 0;
    return { previous, current: units(events, start, start + w), left: start + w - us };
  };
  return {
    passes(us, cost) {
      const { previous, current, left } = counts(us);
      return previous * left + (current + cost) * w <= limit * w;
    },
    charge: (us, cost) => void events.push({ us, cost }),
    used(us) {
      const { previous, current, left } = counts(us);
      return current + Math.ceil((previous * left) / w);
    },
    rested(us) {
      const { previous, current } = counts(us);
      return previous === 0 && current === 0;
    },
  };
}

function literalLog(rule: LogRule): Literal {
  const events: Event[] = [];
  const used = (us: number): number => units(events, us - rule.windowUs + 1, us + 1);
  return {
    passes: (us, cost) => used(us) + cost <= rule.limit,
    charge: (us, cost) => void events.push({ us, cost }),
    used,
    rested: (us) => used(us) === 0,
  };
}

export function literal(rule: RateRule): Literal {
  switch (rule.machine) {
    case 'bucket':
      return literalBucket(rule);
    case 'window':
      return rule.kind === 'anchored' ? literalAnchored(rule) : literalWindow(rule);
    case 'log':
      return literalLog(rule);
    case 'distinct':
      throw new Error('distinct items have a literal model in core/test/distinct');
  }
}

/** The numbers of a decision found by trying: cost by cost, and microsecond by microsecond. */
export function bruteForce(
  model: Literal,
  capacity: number,
  us: number,
  cost: number,
): { used: number; remaining: number; retryAfterMs: number; resetMs: number } {
  let remaining = 0;
  while (remaining < capacity && model.passes(us, remaining + 1)) remaining += 1;
  let waitUs = 0;
  while (cost <= capacity && !model.passes(us + waitUs, cost)) waitUs += 1;
  let restUs = 0;
  while (!model.rested(us + restUs)) restUs += 1;
  return {
    used: model.used(us),
    remaining,
    retryAfterMs: cost > capacity ? Number.POSITIVE_INFINITY : waitUs / 1000,
    resetMs: restUs / 1000,
  };
}
