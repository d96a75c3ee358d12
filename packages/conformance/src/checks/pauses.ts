import { MAX_HOLD_US, makeRule, makeShaperRule, type QueueRule } from '@spillway/core/store';
import type { Check, Harness } from '../harness.js';
import type { Subject } from '../oracle.js';
import { check, expectEqual, type Probe, receiptOf, type Seen, step } from '../probe.js';
import { expectDelays, HASTY, PACED, SECOND_US } from './queues.js';

const THREES: QueueRule = makeShaperRule(4, SECOND_US, 3, 30 * SECOND_US);

export function pauseChecks(harness: Harness): Check[] {
  return [
    check('starts nothing in a pause, and one by one after it', harness, startsAfter),
    check('lengthens a pause, and never shortens it', harness, onlyLengthens),
    check('keeps a queue that is longer than a pause', harness, keepsLongQueues),
    check('starts nothing in a pause because a unit was given back', harness, putsBeforeAPause),
    check('keeps a pause when pace, burst or longest wait are changed', harness, keepsThePause),
    check('keeps a pause and its queue when the clock goes back', harness, goesBack),
    check('holds whatever the group decides', harness, holdsInGroups),
    check('rejects a group that cannot hold', harness, refusesGroups),
  ];
}

function holdQueue(probe: Probe, subject: Subject, holdUs: number): Promise<Seen> {
  return probe.ask('hold', subject, 0, { holdUs });
}

async function startsAfter(probe: Probe): Promise<void> {
  for (const rule of [PACED, THREES]) {
    const subject = probe.fresh(rule);
    const untilUs = probe.nowUs + 2 * SECOND_US;
    const told = `${rule.burst} at once, held for 2 s`;
    const held = await holdQueue(probe, subject, 2 * SECOND_US);
    expectEqual(`${told}: allowed`, true, held.allowed);
    expectEqual(`${told}: end of the pause`, untilUs, held.pausedUntilUs);
    expectEqual(`${told}: remaining`, 0, held.remaining);
    await probe.pass(SECOND_US);
    const [, second] = await expectDelays(probe, `${told}, 1 s later`, subject, [1000, 1250]);
    expectEqual(`${told}: end that a take is told`, untilUs, second?.pausedUntilUs ?? -1);
    await probe.pass(SECOND_US);
    const over = await probe.ask('look', subject);
    expectEqual(`${told}, 2 s later: end of the pause`, 0, over.pausedUntilUs);
    await expectDelays(probe, `${told}, 2 s later`, subject, [500]);

    const quiet = probe.fresh(rule);
    await holdQueue(probe, quiet, SECOND_US);
    await probe.pass(SECOND_US);
    await expectDelays(probe, `${rule.burst} at once, after 1 s without a step`, quiet, [0, 250]);
  }
  const hasty = probe.fresh(HASTY);
  await holdQueue(probe, hasty, 2 * SECOND_US);
  const refused = await probe.ask('take', hasty);
  expectEqual('a wait of half a second, held for 2 s: passes', false, refused.allowed);
  expectEqual('a wait of half a second, held for 2 s: until it does', 1500, refused.retryAfterMs);
}

async function onlyLengthens(probe: Probe): Promise<void> {
  const subject = probe.fresh(PACED);
  const startUs = probe.nowUs;
  for (const [seconds, until] of [
    [2, 2],
    [1, 2],
    [0, 2],
    [5, 5],
  ] as const) {
    const { pausedUntilUs } = await holdQueue(probe, subject, seconds * SECOND_US);
    const told = `held for ${seconds} s: end of the pause after`;
    expectEqual(told, until, (pausedUntilUs - startUs) / SECOND_US);
  }
  const { pausedUntilUs } = await holdQueue(probe, subject, 3 * MAX_HOLD_US);
  expectEqual('held for 3 days: end of the pause', startUs + MAX_HOLD_US, pausedUntilUs);

  const never = probe.fresh(PACED);
  expectEqual('held for 0: end of the pause', 0, (await holdQueue(probe, never, 0)).pausedUntilUs);
  await expectDelays(probe, 'held for 0', never, [0]);
}

async function keepsLongQueues(probe: Probe): Promise<void> {
  const subject = probe.fresh(PACED);
  await expectDelays(probe, 'before a pause', subject, [0, 250, 500, 750]);
  const { delayMs } = await holdQueue(probe, subject, SECOND_US / 2);
  expectEqual('a pause shorter than the queue: wait of the last', 750, delayMs);
  await expectDelays(probe, 'in a pause shorter than the queue', subject, [1000]);
}

async function putsBeforeAPause(probe: Probe): Promise<void> {
  const subject = probe.fresh(PACED);
  const [, last] = await expectDelays(probe, 'before a pause', subject, [0, 250]);
  await holdQueue(probe, subject, 400_000);
  const receipt = receiptOf((last as Seen).answer, 1);
  await probe.ask('put', subject, 1, { receipt });
  await expectDelays(probe, 'after a put in a pause of 400 ms', subject, [400, 650]);
}

async function keepsThePause(probe: Probe): Promise<void> {
  const subject = probe.fresh(PACED);
  await holdQueue(probe, subject, 2 * SECOND_US);
  const slower = { ...subject, rule: makeShaperRule(2, SECOND_US, 1, 30 * SECOND_US) };
  await expectDelays(probe, 'in a pause of 2 s, 2 per second', slower, [2000]);
  const bursty = probe.fresh(PACED);
  await holdQueue(probe, bursty, 2 * SECOND_US);
  const threes = { ...bursty, rule: THREES };
  await expectDelays(probe, 'in a pause of 2 s, changed to three at once', threes, [2000, 2250]);
  const slow = probe.fresh(makeShaperRule(1, SECOND_US, 1, 0));
  await holdQueue(probe, slow, 100_000);
  const fives = { ...slow, rule: makeShaperRule(1, SECOND_US, 5, 0) };
  expectEqual('five at once in a pause: passes', false, (await probe.ask('take', fives)).allowed);
  await probe.pass(100_000);
  await expectDelays(probe, 'one at once after a pause, five rejected', slow, [0]);
  expectEqual(
    'in a pause of 2 s, changed to waits of half a second: passes',
    false,
    (await probe.ask('take', { ...subject, rule: HASTY })).allowed,
  );
}

async function goesBack(probe: Probe): Promise<void> {
  const subject = probe.fresh(HASTY);
  await expectDelays(probe, 'before a pause', subject, [0, 250, 500]);
  await holdQueue(probe, subject, 20 * SECOND_US);
  await probe.pass(19_500_000);
  await expectDelays(probe, 'at the end of a pause', subject, [500]);
  await probe.pass(-2 * SECOND_US);
  const before = await probe.ask('take', subject);
  // The pause ends in 2.5 s, when one waiting unit starts.
  expectEqual('the clock went back in a pause: until all are back', 2750, before.resetMs);
  expectEqual('the clock went back in a pause: until one passes', 2250, before.retryAfterMs);
  await probe.pass(-3 * MAX_HOLD_US);
  const { pausedUntilUs } = await probe.ask('take', subject);
  expectEqual('three days back: end of the pause', probe.nowUs + MAX_HOLD_US, pausedUntilUs);
  const cut = pausedUntilUs;
  await probe.pass(SECOND_US);
  const later = await probe.ask('look', subject);
  expectEqual('three days back, a second later: end of the pause', cut, later.pausedUntilUs);
}

async function holdsInGroups(probe: Probe): Promise<void> {
  const [held, full, other] = [PACED, HASTY, PACED].map((rule) => probe.fresh(rule));
  await expectDelays(probe, 'a queue that fills', full as Subject, [0, 250, 500]);
  const holds = step('hold', held as Subject, 0, { holdUs: SECOND_US });
  const takes = [step('take', full as Subject), step('take', other as Subject)];
  const answers = await probe.apply([holds, ...takes]);
  expectEqual('a hold in a rejected group: allowed', true, answers[0]?.allowed ?? false);
  expectEqual('the take of it', false, answers[1]?.allowed ?? true);
  await expectDelays(probe, 'held in a rejected group', held as Subject, [1000]);
  await expectDelays(probe, 'taken in a rejected group', other as Subject, [0]);
  const again = [holds, step('take', other as Subject)];
  expectEqual('a hold rejects nobody', true, (await probe.apply(again))[1]?.allowed ?? false);
}

async function refusesGroups(probe: Probe): Promise<void> {
  const subject = probe.fresh(PACED);
  const bucket = probe.fresh(makeRule('token-bucket', 4, SECOND_US));
  const holds = (one: Subject) => step('hold', one, 0, { holdUs: SECOND_US });
  for (const group of [
    [holds(bucket)],
    [holds(bucket), step('take', subject)],
    [holds(subject), holds(subject)],
    [holds(subject), step('take', subject)],
  ]) {
    const told = group.map(({ op, rule }) => `${op} of a ${rule.machine}`).join(' with ');
    expectEqual(`${told}: error`, 'SPW_GROUP_INVALID', await probe.errorOf(group));
  }
  await expectDelays(probe, 'after all that', subject, [0]);
}
