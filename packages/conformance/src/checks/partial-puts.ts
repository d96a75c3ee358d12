import type { Step } from '@spillway/core';
import { makeLeasesRule, makeRule, type RateRule } from '@spillway/core/store';
import type { Check, Harness } from '../harness.js';
import type { Subject } from '../oracle.js';
import { check, expectEqual, expectSame, lease, type Probe, receiptOf, step } from '../probe.js';
import { ALGORITHMS, periodUs, type RateAlgorithm, rateRule } from '../rules.js';

const SECOND_US = 1_000_000;

export function partialPutChecks(harness: Harness): Check[] {
  return [
    ...ALGORITHMS.flatMap((algorithm) => [
      check(`gives back a grant in several puts (${algorithm})`, harness, (probe) =>
        givesBackInTurns(probe, algorithm),
      ),
      check(`gives back at most what was granted (${algorithm})`, harness, (probe) =>
        givesBackAtMost(probe, algorithm),
      ),
      check(`gives back a grant beside one of nothing (${algorithm})`, harness, (probe) =>
        givesBackBesideNothing(probe, algorithm),
      ),
      check(`gives back some of a grant while it counts (${algorithm})`, harness, (probe) =>
        givesBackUntilTheEnd(probe, algorithm),
      ),
    ]),
    check('gives back to a bucket no more than has not refilled', harness, onlyNotRefilled),
    check(
      'gives back to a log what the receipt says, of more at one instant',
      harness,
      ofOneInstant,
    ),
    check('keeps the rest of an entry of a log in its place', harness, keepsTheRest),
    check('gives back one permit whatever the cost of the put', harness, oneLease),
  ];
}

async function grantOf(probe: Probe, subject: Subject, cost: number) {
  const { answer } = await probe.ask('take', subject, cost);
  const receipt = receiptOf(answer, cost);
  return async (units: number, allowed: boolean, remaining: number): Promise<void> => {
    const put = await probe.ask('put', subject, units, { receipt });
    const told = `put of ${units} with a receipt of ${cost}`;
    expectEqual(`${told}: allowed`, allowed, put.allowed);
    expectEqual(`${told}: remaining`, remaining, put.remaining);
    const look = await probe.ask('look', subject, units);
    expectEqual(`${told}: remaining afterwards`, remaining, look.remaining);
    expectEqual(`${told}: retryAfterMs`, look.retryAfterMs, put.retryAfterMs);
    expectEqual(`${told}: resetMs`, look.resetMs, put.resetMs);
  };
}

async function givesBackInTurns(probe: Probe, algorithm: RateAlgorithm): Promise<void> {
  const rule = rateRule(algorithm, 10, SECOND_US);
  const alone = probe.fresh(rule);
  const putAlone = await grantOf(probe, alone, 5);
  await putAlone(2, true, 7);
  await putAlone(2, true, 9);
  await putAlone(1, true, 10);
  await putAlone(1, false, 10);

  const shared = probe.fresh(rule);
  const spared = probe.fresh(rule);
  for (const subject of [shared, spared]) await probe.ask('take', subject, 3);
  const put = await grantOf(probe, shared, 5);
  await put(4, true, 6);
  await put(1, true, 7);
  for (const cost of [1, 7, 10]) {
    const expected = await probe.ask('look', spared, cost);
    const got = await probe.ask('look', shared, cost);
    expectSame('compared with a key that was not charged', expected, got);
  }
}

async function givesBackAtMost(probe: Probe, algorithm: RateAlgorithm): Promise<void> {
  const rule = rateRule(algorithm, 10, SECOND_US);
  for (const asked of [4, 8, 10, 11, Number.MAX_SAFE_INTEGER]) {
    const subject = probe.fresh(rule);
    await probe.ask('take', subject, 3);
    const put = await grantOf(probe, subject, 3);
    await probe.ask('take', subject, 2);
    await put(asked, true, 5);
  }
  const subject = probe.fresh(rule);
  await probe.ask('take', subject, 6);
  const put = await grantOf(probe, subject, 0);
  await put(3, false, 4);
}

async function givesBackBesideNothing(probe: Probe, algorithm: RateAlgorithm): Promise<void> {
  const rule = rateRule(algorithm, 10, SECOND_US);
  const units = probe.fresh(rule);
  const permits = probe.fresh(makeLeasesRule(3, 10 * SECOND_US));
  const { answer } = await probe.ask('take', units, 4);
  await probe.ask('take', permits, 1, lease(1));
  const receipt = receiptOf(answer, 4);
  const nothing = [
    step('put', probe.fresh(rule), 0, { receipt: receiptOf(answer, 0) }),
    step('put', probe.fresh(rule), 0, { receipt }),
  ];
  const put = step('put', units, 4, { receipt });
  const release = step('put', permits, 1, { receipt: { ...receipt, units: 1 }, ...lease(1) });
  for (const [group, remaining] of [
    [nothing, [10, 10]],
    [
      [nothing[0] as Step, put],
      [10, 10],
    ],
    [
      [release, nothing[1] as Step],
      [3, 10],
    ],
  ] as const) {
    const answers = await probe.apply(group);
    for (const [at, one] of group.entries()) {
      const told = `put of ${one.cost} in a group of ${group.length}`;
      expectEqual(`${told}: allowed`, one.cost > 0, answers[at]?.allowed ?? true);
      expectEqual(`${told}: remaining`, remaining[at] as number, answers[at]?.remaining ?? -1);
    }
  }
}

/**
 * When a grant of 5 of 10 units expires, and the units left after each of two refunds of 2 units. The first refund
 * comes 1 us before that instant, the second at it.
 */
interface End {
  /** The time from the grant, which was made at `nowUs`, to its end. */
  readonly afterUs: (rule: RateRule, units: number, nowUs: number) => number;
  readonly left: readonly [before: number, then: number];
}

/** Of most algorithms, a grant ends with the period that began with it. */
const END: End = { afterUs: periodUs, left: [7, 10] };

const OTHER_ENDS: Readonly<Partial<Record<RateAlgorithm, End>>> = {
  'token-bucket': {
    afterUs: (rule, units) => (units * periodUs(rule)) / rule.limit,
    left: [10, 10],
  },
  'fixed-window': { afterUs: untilNextWindow, left: [7, 10] },
  'sliding-window-counter': { afterUs: untilNextWindow, left: [7, 7] },
};

function untilNextWindow(rule: RateRule, _units: number, nowUs: number): number {
  return periodUs(rule) - (nowUs % periodUs(rule));
}

async function givesBackUntilTheEnd(probe: Probe, algorithm: RateAlgorithm): Promise<void> {
  const { afterUs, left } = OTHER_ENDS[algorithm] ?? END;
  const rule = rateRule(algorithm, 10, SECOND_US);
  const endUs = afterUs(rule, 5, probe.nowUs);
  const put = await grantOf(probe, probe.fresh(rule), 5);
  await probe.pass(endUs - 1);
  await put(2, true, left[0]);
  await probe.pass(1);
  await put(2, false, left[1]);
}

/** Units refill oldest first, one in 100 ms. So 600 ms after grants of 3 and 5 units, two of the five still count. */
async function onlyNotRefilled(probe: Probe): Promise<void> {
  for (const [units, remaining] of [
    [1, 7],
    [2, 8],
    [3, 8],
    [5, 8],
    [9, 8],
  ] as const) {
    const subject = probe.fresh(makeRule('token-bucket', 10, SECOND_US, 12));
    await probe.ask('take', subject, 3);
    const put = await grantOf(probe, subject, 5);
    await probe.ask('take', subject, 4);
    await probe.pass(600_000);
    await put(units, true, remaining);
  }
}

async function ofOneInstant(probe: Probe): Promise<void> {
  const subject = probe.fresh(makeRule('sliding-window-log', 10, SECOND_US));
  const putOfThree = await grantOf(probe, subject, 3);
  const putOfFour = await grantOf(probe, subject, 4);
  await putOfThree(5, true, 6);
  await putOfFour(5, true, 10);
  await putOfFour(5, false, 10);
}

async function keepsTheRest(probe: Probe): Promise<void> {
  const subject = probe.fresh(makeRule('sliding-window-log', 10, SECOND_US));
  await probe.ask('take', subject, 2);
  await probe.pass(100_000);
  const put = await grantOf(probe, subject, 5);
  await probe.pass(100_000);
  await probe.ask('take', subject, 3);
  await put(2, true, 2);
  await put(1, true, 3);
  // The first two entries have 2 units left each, the last has 3.
  for (const [cost, waitMs] of [
    [4, 800],
    [5, 800],
    [6, 900],
    [7, 900],
    [8, 1000],
  ] as const) {
    const { retryAfterMs } = await probe.ask('look', subject, cost);
    expectEqual(`wait for ${cost} units`, waitMs, retryAfterMs);
  }
  await probe.pass(900_000);
  await put(9, false, 7);
}

async function oneLease(probe: Probe): Promise<void> {
  const subject = probe.fresh(makeLeasesRule(3, 10 * SECOND_US));
  for (const id of [1, 2, 3]) await probe.ask('take', subject, 1, lease(id));
  const receipt = { atUs: 0, num: 0, units: 1 };
  for (const [cost, allowed, left] of [
    [5, true, 1],
    [1, false, 1],
  ] as const) {
    const put = await probe.ask('put', subject, cost, { receipt, ...lease(1) });
    expectEqual(`put of ${cost}: allowed`, allowed, put.allowed);
    expectEqual(`put of ${cost}: permits left`, left, put.remaining);
  }
}
