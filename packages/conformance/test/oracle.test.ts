/** The oracle agrees with literal implementations of the algorithms, which are tried microsecond by microsecond. */

import { capacityOf, type Rule } from '@spillway/core/store';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DEFAULT_SEED, Oracle, type Subject } from '../src/index.js';
import { step } from '../src/probe.js';
import { ALGORITHMS, rateRule } from '../src/rules.js';
import { bruteForce, literal } from './literal.js';

/** Windows of 1 to 60 us: short enough to try every microsecond. */
const tinyRule = (algorithm: (typeof ALGORITHMS)[number]) =>
  fc
    .tuple(
      fc.integer({ min: 1, max: 9 }),
      fc.integer({ min: 1, max: 60 }),
      fc.option(fc.integer({ min: 1, max: 12 }), { nil: undefined }),
    )
    .map(([limit, windowUs, burst]) => rateRule(algorithm, limit, windowUs, burst));

const arrivals = fc.array(
  fc.record({ passUs: fc.nat(50), cost: fc.integer({ min: 1, max: 12 }) }),
  { minLength: 1, maxLength: 25, size: 'max' },
);

const subject = (rule: Rule): Subject => ({ limiter: 'api', key: 'ada', rule });

describe.each(ALGORITHMS)('the oracle for %s', (algorithm) => {
  const input = fc.record({ rule: tinyRule(algorithm), arrivals });
  const settings = { numRuns: 300, seed: DEFAULT_SEED };

  it('decides, and counts what remains, as the definition tried out step by step', () => {
    const property = fc.property(input, ({ rule, arrivals }) => {
      const oracle = new Oracle();
      const model = literal(rule);
      let nowUs = 1_000;
      for (const { passUs, cost } of arrivals) {
        nowUs += passUs;
        const allowed = model.passes(nowUs, cost);
        if (allowed) model.charge(nowUs, cost);
        const numbers = bruteForce(model, capacityOf(rule), nowUs, cost);
        const [verdict] = oracle.apply([step('take', subject(rule), cost)], nowUs);
        expect(verdict).toMatchObject({ allowed, charged: allowed, ...numbers });
      }
    });
    fc.assert(property, settings);
  });

  it('promises the least wait, and the rest after which nothing is remembered, also when the clock ran back', () => {
    const moves = fc.record({ rule: tinyRule(algorithm), arrivals, backUs: fc.nat(200) });
    const property = fc.property(moves, ({ rule, arrivals, backUs }) => {
      const oracle = new Oracle();
      let nowUs = 1_000;
      for (const { passUs, cost } of arrivals) {
        nowUs += passUs;
        oracle.apply([step('record', subject(rule), cost)], nowUs);
      }
      nowUs -= backUs;
      for (const cost of [1, 2, capacityOf(rule)]) {
        const [verdict] = oracle.apply([step('take', subject(rule), cost)], nowUs);
        const waitUs = Math.round((verdict?.retryAfterMs ?? 0) * 1000);
        const passesAfter = (us: number) =>
          oracle.apply([step('look', subject(rule), cost)], nowUs + us)[0]?.allowed;
        if (verdict?.retryAfterMs === Number.POSITIVE_INFINITY) continue;
        for (let us = 0; us < waitUs; us += 1) expect(passesAfter(us)).toBe(false);
        expect(passesAfter(waitUs)).toBe(true);
      }
      const [look] = oracle.apply([step('look', subject(rule))], nowUs);
      const restUs = Math.round((look?.resetMs ?? 0) * 1000);
      const remembers = (us: number) =>
        oracle.apply([step('look', subject(rule))], nowUs + us)[0]?.resetMs !== 0;
      for (let us = 0; us < restUs; us += 1) expect(remembers(us)).toBe(true);
      expect(remembers(restUs)).toBe(false);
    });
    fc.assert(property, { ...settings, numRuns: 100 });
  });
});

describe('the oracle for a token-bucket', () => {
  it('records and gives back as a literal bucket does', () => {
    const input = fc.record({
      rule: tinyRule('token-bucket'),
      arrivals,
      putAfterUs: fc.nat(60),
      putCost: fc.integer({ min: 1, max: 12 }),
    });
    const property = fc.property(input, ({ rule, arrivals, putAfterUs, putCost }) => {
      const oracle = new Oracle();
      const model = literal(rule);
      let nowUs = 1_000;
      const level = () => bruteForce(model, capacityOf(rule), nowUs, 1).remaining;
      for (const { passUs, cost } of arrivals) {
        nowUs += passUs;
        // Only a whole number of units that passes, because the literal bucket can charge no other.
        const fits = Math.min(cost, level());
        model.charge(nowUs, fits);
        const [verdict] = oracle.apply([step('record', subject(rule), fits)], nowUs);
        expect(verdict?.remaining).toBe(level());
      }
      if (!model.passes(nowUs, putCost)) return;
      // A refund leaves the bucket as if the grant had never been made, unless the bucket was full in between.
      const [grant] = oracle.apply([step('take', subject(rule), putCost)], nowUs);
      const atUs = grant?.answer && 'tatUs' in grant.answer ? grant.answer.tatUs : 0;
      const num = grant?.answer && 'tatNum' in grant.answer ? grant.answer.tatNum : 0;
      nowUs += putAfterUs;
      const put = step('put', subject(rule), putCost, { receipt: { atUs, num, units: putCost } });
      const [verdict] = oracle.apply([put], nowUs);
      expect(verdict).toMatchObject(bruteForce(model, capacityOf(rule), nowUs, putCost));
    });
    fc.assert(property, { numRuns: 300, seed: DEFAULT_SEED });
  });
});
