import fc from 'fast-check';
import type { Check, Harness, Settings } from '../harness.js';
import type { Subject } from '../oracle.js';
import { check, expectEqual, expectSame, type Probe, receiptOf } from '../probe.js';
import { forAll } from '../property.js';
import {
  ALGORITHMS,
  describe,
  periodUs,
  type RateAlgorithm,
  rateRule,
  smallRulesOf,
} from '../rules.js';

export function operationChecks(harness: Harness, settings: Settings): Check[] {
  return ALGORITHMS.flatMap((algorithm) => [
    recordsAsTaken(algorithm, harness, settings),
    check(
      `records what does not pass up to the limit, no further (${algorithm})`,
      harness,
      (probe) => recordsToTheBrim(probe, algorithm),
    ),
    check(`gives back a grant (${algorithm})`, harness, (probe) => givesBack(probe, algorithm)),
    check(`gives back nothing of a grant that no longer counts (${algorithm})`, harness, (probe) =>
      givesBackNothing(probe, algorithm),
    ),
    check(`forgets a key that is reset, and only that (${algorithm})`, harness, (probe) =>
      forgets(probe, algorithm),
    ),
  ]);
}

function recordsAsTaken(algorithm: RateAlgorithm, harness: Harness, settings: Settings): Check {
  const arrivals = fc.array(
    fc.record({
      cost: fc.integer({ min: 0, max: 10 }),
      passUs: fc.integer({ min: 0, max: 5_000_000 }),
    }),
    { minLength: 1, maxLength: 10, size: 'max' },
  );
  const few = { ...settings, runs: Math.ceil(settings.runs / 2) };
  return check(`says of a record what take would have said (${algorithm})`, harness, (probe) =>
    forAll(fc.record({ rule: smallRulesOf(algorithm), arrivals }), few, async (input) => {
      const taken = probe.fresh(input.rule);
      const recorded = probe.fresh(input.rule);
      const told = describe(input.rule);
      for (const { cost, passUs } of input.arrivals) {
        await probe.pass(passUs);
        const take = await probe.ask('take', taken, cost);
        const record = await probe.ask('record', recorded, cost);
        expectEqual(`${told}, record ${cost}: allowed`, take.allowed, record.allowed);
        if (!take.allowed) return; // from here on the two counts differ
        expectSame(`${told}, record ${cost}`, take, record);
      }
    }),
  );
}

async function recordsToTheBrim(probe: Probe, algorithm: RateAlgorithm): Promise<void> {
  const rule = rateRule(algorithm, 10, 1_000_000);
  const full = probe.fresh(rule);
  const recorded = probe.fresh(rule);
  await probe.ask('take', full, 10);
  await probe.ask('record', recorded, 7);
  const answer = await probe.ask('record', recorded, 4);
  expectEqual('record of 4 with 3 left: allowed', false, answer.allowed);
  expectEqual('record of 4 with 3 left: remaining', 0, answer.remaining);
  await probe.ask('record', recorded, Number.MAX_SAFE_INTEGER);
  expectSame(
    'compared with a key that was filled',
    await probe.ask('look', full, 10),
    await probe.ask('look', recorded, 10),
  );
}

async function givesBack(probe: Probe, algorithm: RateAlgorithm): Promise<void> {
  const rule = rateRule(algorithm, 10, 1_000_000);
  const charged = probe.fresh(rule);
  const spared = probe.fresh(rule);
  await probe.ask('take', charged, 3);
  await probe.ask('take', spared, 3);
  const grant = await probe.ask('take', charged, 5);
  const receipt = receiptOf(grant.answer, 5);
  const put = await probe.ask('put', charged, 5, { receipt });
  expectEqual('put: allowed', true, put.allowed);
  expectEqual('put: remaining', 7, put.remaining);
  for (const passUs of [0, 150_000, 300_000]) {
    await probe.pass(passUs);
    await expectTwins(probe, 'compared with a key that was not charged', spared, charged);
  }
}

async function givesBackNothing(probe: Probe, algorithm: RateAlgorithm): Promise<void> {
  const rule = rateRule(algorithm, 10, 1_000_000);
  const subject = probe.fresh(rule);
  const unspent = await probe.ask('take', subject, 10);
  // Two windows later the grant no longer counts. `put` must not refund what was charged after the grant.
  await probe.pass(2 * periodUs(rule));
  await probe.ask('take', subject, 10);
  const put = await probe.ask('put', subject, 10, { receipt: receiptOf(unspent.answer, 10) });
  expectEqual('put two windows later: allowed', false, put.allowed);
  expectEqual('put two windows later: remaining', 0, put.remaining);

  // Even after several refunds, a key has no more units left than an unused key.
  const rested = probe.fresh(rule);
  const { answer } = await probe.ask('take', rested, 4);
  for (const allowed of [true, false, false]) {
    const again = await probe.ask('put', rested, 4, { receipt: receiptOf(answer, 4) });
    expectEqual('put of all there is: allowed', allowed, again.allowed);
    expectEqual('put of all there is: remaining', 10, again.remaining);
  }
  await expectTwins(probe, 'compared with a key never used', probe.fresh(rule), rested);
}

async function forgets(probe: Probe, algorithm: RateAlgorithm): Promise<void> {
  const subject = probe.fresh(rateRule(algorithm, 4, 1_000_000));
  const neighbour = { ...subject, key: 'bob' };
  for (const one of [subject, neighbour]) await probe.ask('take', one, 4);
  const reset = await probe.ask('reset', subject, 1);
  expectEqual('reset: allowed', true, reset.allowed);
  expectEqual('reset: remaining', 4, reset.remaining);
  expectEqual('reset: retryAfterMs', 0, reset.retryAfterMs);
  expectEqual('reset: resetMs', 0, reset.resetMs);
  await expectTwins(probe, 'compared with a key never used', probe.fresh(subject.rule), subject);
  expectEqual('its neighbour', 0, (await probe.ask('look', neighbour)).remaining);
}

async function expectTwins(
  probe: Probe,
  what: string,
  expected: Subject,
  got: Subject,
): Promise<void> {
  for (const cost of [1, 4, 10]) {
    expectSame(what, await probe.ask('look', expected, cost), await probe.ask('look', got, cost));
  }
}
