import {
  type BucketRule,
  type LogRule,
  makeLeasesRule,
  type RateRule,
  type Rule,
} from '@spillway/core/store';
import fc from 'fast-check';
import type { Check, Harness, Settings } from '../harness.js';
import { check, expectEqual, expectSame, lease, type Probe } from '../probe.js';
import { forAll } from '../property.js';
import {
  ALGORITHMS,
  describe,
  periodUs,
  type RateAlgorithm,
  rateRule,
  smallRulesOf,
} from '../rules.js';

const YEAR_US = 365 * 86_400_000_000;
const WINDOW_US = 10_000_000;

export function clockChecks(harness: Harness, settings: Settings): Check[] {
  const name = (sentence: string, algorithm: RateAlgorithm) => `${sentence} (${algorithm})`;
  return [
    ...ALGORITHMS.flatMap((algorithm) => [
      check(name('admits no more when the clock runs back', algorithm), harness, (probe) =>
        runsBack(probe, algorithm),
      ),
      check(
        name('blocks nobody for a year when the clock was a year ahead', algorithm),
        harness,
        (p) => wasAhead(p, algorithm),
      ),
      check(name('looks without a trace whatever the clock shows', algorithm), harness, (probe) =>
        looksWithoutATrace(probe, rateRule(algorithm, 5, WINDOW_US)),
      ),
    ]),
    check('looks at leases without a trace whatever the clock shows', harness, (probe) =>
      looksWithoutATrace(probe, makeLeasesRule(5, WINDOW_US)),
    ),
    check('admits at most burst + length / T in any interval (token-bucket)', harness, (probe) =>
      forAll(arrivals('token-bucket'), settings, async ({ rule, events }) => {
        const admitted = await admittedOf(probe, rule, events);
        expectBucketEnvelope(rule as BucketRule, admitted);
      }),
    ),
    check('admits at most the limit in any window (sliding-window-log)', harness, (probe) =>
      forAll(arrivals('sliding-window-log'), settings, async ({ rule, events }) => {
        expectLogEnvelope(rule as LogRule, await admittedOf(probe, rule, events));
      }),
    ),
  ];
}

async function runsBack(probe: Probe, algorithm: RateAlgorithm): Promise<void> {
  const rule = rateRule(algorithm, 5, WINDOW_US);
  const subject = probe.fresh(rule);
  const halfUs = periodUs(rule) / 2;
  const startUs = probe.nowUs + halfUs;
  await probe.at(startUs);
  await probe.ask('take', subject, 5);
  for (const backUs of [1, 1_000, halfUs, halfUs + 1, 2 * halfUs]) {
    await probe.at(startUs - backUs);
    const answer = await probe.ask('take', subject);
    expectEqual(`${backUs} us back: allowed`, false, answer.allowed);
    expectEqual(`${backUs} us back: remaining`, 0, answer.remaining);
    expectEqual(`${backUs} us back: nowUs`, startUs - backUs, answer.answer.nowUs);
  }
}

async function wasAhead(probe: Probe, algorithm: RateAlgorithm): Promise<void> {
  const rule = rateRule(algorithm, 5, WINDOW_US);
  const subject = probe.fresh(rule);
  const startUs = probe.nowUs;
  await probe.at(startUs + YEAR_US);
  await probe.ask('take', subject, 5);
  await probe.at(startUs);
  const refused = await probe.ask('take', subject, 5);
  expectEqual('a year back: allowed', false, refused.allowed);
  const atMostMs = (2 * periodUs(rule)) / 1000;
  const soon = refused.retryAfterMs <= atMostMs;
  expectEqual(`wait of ${refused.retryAfterMs} ms is at most ${atMostMs} ms`, true, soon);
  await probe.pass(Math.round(refused.retryAfterMs * 1000));
  const admitted = await probe.ask('take', subject, 5);
  expectEqual('after the promised wait: allowed', true, admitted.allowed);
}

/**
 * Fills a count, sets the clock far back, runs operations that charge nothing, and expects the count to be full when
 * the clock is right again.
 */
async function looksWithoutATrace(probe: Probe, rule: Rule): Promise<void> {
  const seenTwice = probe.fresh(rule);
  const seenOnce = probe.fresh(rule);
  const startUs = probe.nowUs;
  await probe.at(startUs + YEAR_US);
  for (const subject of [seenTwice, seenOnce]) {
    for (let unit = 0; unit < 5; unit += 1) await probe.ask('take', subject, 1, lease(unit));
  }
  await probe.at(startUs);
  await probe.ask('look', seenTwice);
  await probe.ask('take', seenTwice, 0, lease('other'));
  await probe.ask('record', seenTwice, 0, lease('other'));
  await probe.ask('put', seenTwice, 0, {
    ...lease('other'),
    receipt: { atUs: 1, num: 0, units: 1 },
  });
  await probe.ask('put', seenTwice, 1, {
    ...lease('other'),
    receipt: { atUs: 1, num: 0, units: 1 },
  });
  await probe.at(startUs + YEAR_US);
  const again = await probe.ask('take', seenTwice, 1, lease('other'));
  expectEqual('when the clock is right again: allowed', false, again.allowed);
  expectSame('as a key that nobody looked at', await probe.ask('look', seenOnce), again);
}

interface Event {
  readonly us: bigint;
  readonly cost: bigint;
}

interface Arrival {
  readonly passUs: number;
  readonly cost: number;
}

function arrivals(algorithm: RateAlgorithm) {
  return smallRulesOf(algorithm).chain((rule) => {
    const unitUs = Math.floor(rule.windowUs / rule.limit);
    const passUs = fc.oneof(
      { weight: 4, arbitrary: fc.integer({ min: 0, max: 3 }) },
      { weight: 4, arbitrary: fc.integer({ min: 0, max: 2 * unitUs }) },
      { weight: 2, arbitrary: fc.constantFrom(unitUs, unitUs + 1, rule.windowUs) },
      { weight: 1, arbitrary: fc.integer({ min: 0, max: 2 * rule.windowUs }) },
    );
    const cost = fc.oneof(
      { weight: 3, arbitrary: fc.constant(1) },
      { weight: 1, arbitrary: fc.integer({ min: 1, max: rule.limit }) },
    );
    return fc.record({
      rule: fc.constant(rule),
      events: fc.array(fc.record({ passUs, cost }), { minLength: 1, maxLength: 40, size: 'max' }),
    });
  });
}

async function admittedOf(
  probe: Probe,
  rule: RateRule,
  events: readonly Arrival[],
): Promise<Event[]> {
  const subject = probe.fresh(rule);
  const admitted: Event[] = [];
  for (const { passUs, cost } of events) {
    await probe.pass(passUs);
    const { allowed } = await probe.ask('take', subject, cost);
    if (allowed) admitted.push({ us: BigInt(probe.nowUs), cost: BigInt(cost) });
  }
  return admitted;
}

/**
 * Expects that any interval of length t, including both ends, admits at most B + t x N / W units. B is the burst, N the
 * limit and W the window.
 */
function expectBucketEnvelope(rule: BucketRule, admitted: readonly Event[]): void {
  const window = BigInt(rule.windowUs);
  for (const [from, first] of admitted.entries()) {
    let units = 0n;
    for (const { us, cost } of admitted.slice(from)) {
      units += cost;
      const most = BigInt(rule.burst) * window + (us - first.us) * BigInt(rule.limit);
      const told = `${describe(rule)}: ${units} units in ${us - first.us} us keep the envelope`;
      expectEqual(told, true, units * window <= most);
    }
  }
}

function expectLogEnvelope(rule: LogRule, admitted: readonly Event[]): void {
  for (const [from, first] of admitted.entries()) {
    const end = first.us + BigInt(rule.windowUs);
    const within = admitted.slice(from).filter(({ us }) => us < end);
    const units = within.reduce((sum, { cost }) => sum + cost, 0n);
    const told = `${describe(rule)}: ${units} units in the window from ${first.us} keep the limit`;
    expectEqual(told, true, units <= BigInt(rule.limit));
  }
}
