import { capacityOf, type RateRule } from '@spillway/core/store';
import fc from 'fast-check';
import type { Check, Harness, Settings } from '../harness.js';
import { check, expectEqual, expectSame, type Probe } from '../probe.js';
import { forAll } from '../property.js';
import {
  ALGORITHMS,
  describe,
  periodUs,
  type RateAlgorithm,
  rateRule,
  smallRulesOf,
} from '../rules.js';

export function promiseChecks(harness: Harness, settings: Settings): Check[] {
  return ALGORITHMS.flatMap((algorithm) => [
    keepsItsPromise(algorithm, harness, settings),
    refusesWithoutATrace(algorithm, harness, settings),
    admitsExactlyTheLimit(algorithm, harness),
    weighsCosts(algorithm, harness),
    refusesForEver(algorithm, harness),
  ]);
}

interface Arrival {
  readonly cost: number;
  readonly passUs: number;
}

interface History {
  readonly rule: RateRule;
  readonly arrivals: readonly Arrival[];
}

function histories(algorithm: RateAlgorithm): fc.Arbitrary<History> {
  return smallRulesOf(algorithm).chain((rule) =>
    fc.record({
      rule: fc.constant(rule),
      arrivals: fc.array(
        fc.record({
          cost: fc.integer({ min: 1, max: Math.max(1, Math.ceil(capacityOf(rule) / 2)) }),
          passUs: fc.integer({ min: 0, max: Math.ceil(rule.windowUs / 3) }),
        }),
        { minLength: 2, maxLength: 12, size: 'max' },
      ),
    }),
  );
}

function keepsItsPromise(algorithm: RateAlgorithm, harness: Harness, settings: Settings): Check {
  const name = `admits after exactly the promised wait, one microsecond less is rejected (${algorithm})`;
  return check(name, harness, (probe) =>
    forAll(histories(algorithm), settings, async ({ rule, arrivals }) => {
      const subject = probe.fresh(rule);
      for (const { cost, passUs } of arrivals) {
        await probe.pass(passUs);
        const refused = await probe.ask('take', subject, cost);
        if (refused.allowed) continue;
        const waitUs = Math.round(refused.retryAfterMs * 1000);
        const told = `${describe(rule)}, cost ${cost}, promised wait ${waitUs} us`;
        const refusedUs = probe.nowUs;
        await probe.at(refusedUs + waitUs - 1);
        expectEqual(`${told}, 1 us early`, false, (await probe.ask('take', subject, cost)).allowed);
        await probe.at(refusedUs + waitUs);
        expectEqual(`${told}, on time`, true, (await probe.ask('take', subject, cost)).allowed);
      }
    }),
  );
}

function refusesWithoutATrace(
  algorithm: RateAlgorithm,
  harness: Harness,
  settings: Settings,
): Check {
  return check(`changes nothing when it rejects (${algorithm})`, harness, (probe) =>
    forAll(histories(algorithm), settings, async ({ rule, arrivals }) => {
      const all = probe.fresh(rule);
      const admittedOnly = probe.fresh(rule);
      for (const { cost, passUs } of arrivals) {
        await probe.pass(passUs);
        const before = await probe.ask('look', all, cost);
        const answer = await probe.ask('take', all, cost);
        expectEqual(`${describe(rule)}: look before take`, answer.allowed, before.allowed);
        if (answer.allowed) await probe.ask('take', admittedOnly, cost);
        else
          expectSame(`${describe(rule)}: rejected, compared with the look before`, before, answer);
        expectSame(
          `${describe(rule)}: compared with a twin that saw only what was admitted`,
          await probe.ask('look', admittedOnly, cost),
          await probe.ask('look', all, cost),
        );
      }
    }),
  );
}

function admitsExactlyTheLimit(algorithm: RateAlgorithm, harness: Harness): Check {
  const name = `admits exactly the limit of many parallel calls (${algorithm})`;
  return check(name, harness, async (probe) => {
    const subject = probe.fresh(rateRule(algorithm, 37, 60_000_000));
    const calls = Array.from({ length: 200 }, () => probe.ask('take', subject));
    const answers = await Promise.all(calls);
    expectEqual('admitted of 200', 37, answers.filter((answer) => answer.allowed).length);
  });
}

function weighsCosts(algorithm: RateAlgorithm, harness: Harness): Check {
  return check(`weighs requests by their cost (${algorithm})`, harness, async (probe) => {
    const subject = probe.fresh(rateRule(algorithm, 10, 60_000_000));
    const script = [
      [4, true, 6],
      [7, false, 6],
      [0, true, 6],
      [5, true, 1],
      [2, false, 1],
      [1, true, 0],
      [1, false, 0],
      [0, true, 0],
    ] as const;
    for (const [cost, allowed, remaining] of script) {
      const answer = await probe.ask('take', subject, cost);
      expectEqual(`take ${cost}: allowed`, allowed, answer.allowed);
      expectEqual(`take ${cost}: remaining`, remaining, answer.remaining);
    }
  });
}

function refusesForEver(algorithm: RateAlgorithm, harness: Harness): Check {
  const name = `answers never to a cost above the capacity, and charges nothing (${algorithm})`;
  return check(name, harness, async (probe) => {
    const rule = rateRule(algorithm, 5, 1_000_000);
    const subject = probe.fresh(rule);
    await probe.ask('take', subject, 2);
    for (const cost of [6, 7, 1_000_000_007, Number.MAX_SAFE_INTEGER]) {
      await refusedForEver(probe, subject, cost);
    }
    await probe.pass(10 * periodUs(rule));
    await refusedForEver(probe, subject, 6);
    expectEqual('take of 5 when rested', true, (await probe.ask('take', subject, 5)).allowed);
  });
}

async function refusedForEver(
  probe: Probe,
  subject: Parameters<Probe['ask']>[1],
  cost: number,
): Promise<void> {
  const before = await probe.ask('look', subject, 1);
  const answer = await probe.ask('take', subject, cost);
  expectEqual(`take ${cost}: allowed`, false, answer.allowed);
  expectEqual(`take ${cost}: retryAfterMs`, Number.POSITIVE_INFINITY, answer.retryAfterMs);
  expectSame(`after take ${cost}`, before, await probe.ask('look', subject, 1));
}
