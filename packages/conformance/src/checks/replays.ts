import type { Rule } from '@spillway/core/store';
import fc from 'fast-check';
import type { Check, Harness, Settings } from '../harness.js';
import { Oracle, type Subject, type Verdict } from '../oracle.js';
import { check, expectEqual, FIELDS, step } from '../probe.js';
import { forAll } from '../property.js';
import {
  ALGORITHMS,
  calendarRules,
  changedDistinctRules,
  changedLockRules,
  changedQueueRules,
  claimsRules,
  distinctRules,
  extremesOf,
  kinRules,
  leasesRules,
  lockRules,
  queueRules,
  type RateAlgorithm,
  rateRule,
  rulesOf,
  severalRules,
} from '../rules.js';
import { traces } from '../trace.js';
import { replay } from '../trace-replay.js';

export function replayChecks(harness: Harness, settings: Settings): Check[] {
  const few = { ...settings, runs: Math.ceil(settings.runs / 4) };
  return [
    ...ALGORITHMS.map((algorithm) =>
      check(`replays ${algorithm} traces exactly as the oracle`, harness, (probe) =>
        forAll(traces(alone(rulesOf(algorithm)), { width: 2 }), settings, (trace) =>
          replay(probe, trace),
        ),
      ),
    ),
    check('replays traces by calendar exactly as the oracle', harness, (probe) =>
      forAll(traces(alone(calendarRules), { width: 2 }), settings, (trace) => replay(probe, trace)),
    ),
    check('replays traces of different things exactly as the oracle', harness, (probe) =>
      forAll(traces(alone(distinctRules), { width: 2 }), settings, (trace) => replay(probe, trace)),
    ),
    check('replays live changes of different things exactly as the oracle', harness, (probe) =>
      forAll(traces(changedDistinctRules, { width: 2, meet: true }), settings, (trace) =>
        replay(probe, trace),
      ),
    ),
    check('replays traces of leases exactly as the oracle', harness, (probe) =>
      forAll(traces(alone(leasesRules), { width: 2 }), settings, (trace) => replay(probe, trace)),
    ),
    check('replays traces of claims exactly as the oracle', harness, (probe) =>
      forAll(traces(severalClaims, { width: 3, meet: true }), settings, (trace) =>
        replay(probe, trace),
      ),
    ),
    check('replays traces of a bucket that waits exactly as the oracle', harness, (probe) =>
      forAll(traces(alone(queueRules), { width: 2 }), settings, (trace) => replay(probe, trace)),
    ),
    check('replays live changes of a bucket that waits exactly as the oracle', harness, (probe) =>
      forAll(traces(changedQueueRules, { width: 2, meet: true }), settings, (trace) =>
        replay(probe, trace),
      ),
    ),
    check('replays traces of limits with a penalty exactly as the oracle', harness, (probe) =>
      forAll(traces(alone(lockRules), { width: 2 }), settings, (trace) => replay(probe, trace)),
    ),
    check('replays changes of limits with a penalty exactly as the oracle', harness, (probe) =>
      forAll(traces(changedLockRules, { width: 2, meet: true }), settings, (trace) =>
        replay(probe, trace),
      ),
    ),
    check('replays mixed groups of all algorithms exactly as the oracle', harness, (probe) =>
      forAll(traces(severalRules, { width: 4 }), settings, (trace) => replay(probe, trace)),
    ),
    check('replays rules that meet on one key exactly as the oracle', harness, (probe) =>
      forAll(traces(kinRules, { width: 4, meet: true }), settings, (trace) => replay(probe, trace)),
    ),
    ...ALGORITHMS.map((algorithm) =>
      check(
        `is exact for a ${algorithm} of 1 ms or 400 days, of 1 or 10^9 units`,
        harness,
        (probe) =>
          forAll(traces(alone(extremesOf(algorithm)), { width: 2 }), few, (trace) =>
            replay(probe, trace),
          ),
      ),
    ),
    ...ALGORITHMS.map((algorithm) => changedLimit(algorithm, harness, few)),
  ];
}

const severalClaims = fc.array(claimsRules, { minLength: 1, maxLength: 2 });

function alone(rule: fc.Arbitrary<Rule>): fc.Arbitrary<readonly Rule[]> {
  return rule.map((one) => [one]);
}

/** Limits that divide the window. With these, the instant at which a bucket is full is always an integer. */
const limits = fc.constantFrom(1, 2, 5, 10, 20, 50);

function changedLimit(algorithm: RateAlgorithm, harness: Harness, settings: Settings): Check {
  const input = fc.record({
    costs: fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1, maxLength: 8 }),
    changes: fc.array(fc.record({ limit: limits, cost: fc.integer({ min: 0, max: 12 }) }), {
      minLength: 1,
      maxLength: 6,
    }),
    passUs: fc.integer({ min: 0, max: 300_000 }),
  });
  return check(
    `keeps what a ${algorithm} has counted when its limit is changed`,
    harness,
    (probe) =>
      forAll(input, settings, async ({ costs, changes, passUs }) => {
        const oracle = new Oracle();
        const first = probe.fresh(rateRule(algorithm, 10, 1_000_000));
        const takeUnits = async (subject: Subject, cost: number): Promise<void> => {
          await probe.pass(passUs);
          const taken = step('take', subject, cost);
          const [got] = await probe.apply([taken]);
          const expected = oracle.apply([taken], probe.nowUs)[0] as Verdict;
          for (const field of FIELDS) {
            const what = `take ${cost} at a limit of ${subject.rule.limit}: ${field}`;
            expectEqual(what, expected[field], got?.[field] ?? Number.NaN);
          }
        };
        for (const cost of costs) await takeUnits(first, cost);
        for (const { limit, cost } of changes) {
          await takeUnits({ ...first, rule: rateRule(algorithm, limit, 1_000_000) }, cost);
        }
      }),
  );
}
