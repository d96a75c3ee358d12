import { makeShaperRule, type QueueRule } from '@spillway/core/store';
import type { Check, Harness } from '../harness.js';
import type { Subject } from '../oracle.js';
import {
  check,
  expectEqual,
  expectSame,
  type Probe,
  receiptOf,
  type Seen,
  step,
} from '../probe.js';

export const SECOND_US = 1_000_000;

export const PACED: QueueRule = makeShaperRule(4, SECOND_US, 1, 30 * SECOND_US);
const PAIRS: QueueRule = makeShaperRule(4, SECOND_US, 2, 30 * SECOND_US);
export const HASTY: QueueRule = makeShaperRule(4, SECOND_US, 1, SECOND_US / 2);

export function queueChecks(harness: Harness): Check[] {
  return [
    check('lets units wait for their turn', harness, waitsItsTurn),
    check('rejects a wait that is too long, and charges nothing', harness, refusesLongWaits),
    check('gives back to a queue only what was taken last', harness, givesBackTheLast),
    check('keeps a queue when pace, burst or longest wait are changed', harness, keepsTheQueue),
    check('reads a fraction of a queue over another one rounded up', harness, roundsUp),
    check('cuts a queue that the clock has left too far ahead', harness, cutsTheQueue),
    check('forgets a queue at a reset', harness, forgets),
    check('starts takes together at the latest of their starts', harness, startsTogether),
    check('charges no take that starts together with a rejected one', harness, rejectsTogether),
  ];
}

export async function expectDelays(
  probe: Probe,
  told: string,
  subject: Subject,
  delays: readonly number[],
): Promise<Seen[]> {
  const all: Seen[] = [];
  for (const [at, delayMs] of delays.entries()) {
    const seen = await probe.ask('take', subject);
    expectEqual(`${told}: unit ${at + 1} passes`, true, seen.allowed);
    expectEqual(`${told}: wait of unit ${at + 1}`, delayMs, seen.delayMs);
    all.push(seen);
  }
  return all;
}

async function waitsItsTurn(probe: Probe): Promise<void> {
  const paced = probe.fresh(PACED);
  await expectDelays(probe, '4 per second', paced, [0, 250, 500, 750]);
  await probe.pass(SECOND_US / 2);
  await expectDelays(probe, '4 per second, half a second later', paced, [500]);
  await probe.pass(10 * SECOND_US);
  await expectDelays(probe, '4 per second, rested', paced, [0, 250]);

  const pairs = probe.fresh(PAIRS);
  await expectDelays(probe, 'two at once', pairs, [0, 0, 250, 500]);
  expectEqual('two at once: never three', false, (await probe.ask('take', pairs, 3)).allowed);
  const two = await probe.ask('take', pairs, 2);
  expectEqual('two at once: wait of a pair', 1000, two.delayMs);
  expectEqual('two at once: used', 6, two.used);
  await probe.pass(1_250_000);
  const half = await probe.ask('look', pairs);
  expectEqual('two at once: units that pass without waiting', 1, half.remaining);
  expectEqual('two at once: until all are back', 250, half.resetMs);
}

async function refusesLongWaits(probe: Probe): Promise<void> {
  const subject = probe.fresh(HASTY);
  await expectDelays(probe, 'waits of half a second', subject, [0, 250, 500]);
  const before = await probe.ask('look', subject);
  const refused = await probe.ask('take', subject);
  expectEqual('a fourth passes', false, refused.allowed);
  expectEqual('until a fourth passes', 250, refused.retryAfterMs);
  expectSame('after a rejection', before, await probe.ask('look', subject));
  await probe.pass(249_999);
  expectEqual('a microsecond too early', false, (await probe.ask('take', subject)).allowed);
  await probe.pass(1);
  await expectDelays(probe, 'after the promised wait', subject, [500]);
}

async function givesBackTheLast(probe: Probe): Promise<void> {
  const subject = probe.fresh(PACED);
  const [, second, third] = await expectDelays(probe, 'three', subject, [0, 250, 500]);
  const putBack = async (grant: Seen | undefined, units = 1): Promise<boolean> => {
    const receipt = receiptOf((grant as Seen).answer, 1);
    return (await probe.ask('put', subject, units, { receipt })).allowed;
  };
  expectEqual('the second is given back', false, await putBack(second));
  await expectDelays(probe, 'after a put from the middle', subject, [750]);
  expectEqual('the third of four is given back', false, await putBack(third));

  const other = probe.fresh(PAIRS);
  const first = await probe.ask('take', other, 2);
  const pair = await probe.ask('take', other, 2);
  expectEqual('a pair after a pair waits', 500, pair.delayMs);
  const receipt = receiptOf(pair.answer, 2);
  const one = await probe.ask('put', other, 1, { receipt });
  expectEqual('one of the last pair is given back', true, one.allowed);
  expectEqual('the wait of its other one', 250, one.delayMs);
  const again = await probe.ask('put', other, 1, { receipt });
  expectEqual('by the same receipt again', false, again.allowed);
  const rest = { ...receiptOf(one.answer, 1) };
  expectEqual('the rest', true, (await probe.ask('put', other, 5, { receipt: rest })).allowed);
  await expectDelays(probe, 'after all was given back', other, [250]);
  const late = receiptOf(first.answer, 2);
  await probe.pass(10 * SECOND_US);
  const put2 = await probe.ask('put', other, 2, { receipt: late });
  expectEqual('a unit long started is given back', false, put2.allowed);
}

async function keepsTheQueue(probe: Probe): Promise<void> {
  const subject = probe.fresh(PACED);
  await expectDelays(probe, 'at 4 per second', subject, [0, 250, 500, 750, 1000, 1250]);
  const changes: readonly (readonly [string, QueueRule, number])[] = [
    ['2 per second', makeShaperRule(2, SECOND_US, 1, 30 * SECOND_US), 1500],
    ['10 per second', makeShaperRule(10, SECOND_US, 1, 30 * SECOND_US), 2000],
    ['two at once', PAIRS, 1850],
    ['a longer wait', makeShaperRule(4, SECOND_US, 1, 60 * SECOND_US), 2350],
  ];
  for (const [told, rule, delayMs] of changes) {
    await expectDelays(probe, `changed to ${told}`, { ...subject, rule }, [delayMs]);
  }
  const hasty = { ...subject, rule: HASTY };
  const refused = await probe.ask('take', hasty);
  expectEqual('changed to a wait of half a second: passes', false, refused.allowed);
  expectEqual('changed to a wait of half a second: until it does', 2100, refused.retryAfterMs);
  await expectDelays(probe, 'changed back', subject, [2600]);
}

async function roundsUp(probe: Probe): Promise<void> {
  const thirds = probe.fresh(makeShaperRule(3, SECOND_US, 1, 30 * SECOND_US));
  await expectDelays(probe, '3 per second', thirds, [0, 333.334]);
  const paced = { ...thirds, rule: PACED };
  await probe.pass(333_333);
  await expectDelays(probe, 'changed to 4 per second', paced, [333.334]);
  await expectDelays(probe, 'changed back to 3 per second', thirds, [583.334]);
}

async function cutsTheQueue(probe: Probe): Promise<void> {
  const subject = probe.fresh(HASTY);
  const longer = { ...subject, rule: PACED };
  await expectDelays(probe, 'before the clock goes back', subject, [0, 250, 500]);
  await probe.pass(-60 * SECOND_US);
  const refused = await probe.ask('take', subject);
  expectEqual('the clock went back: passes', false, refused.allowed);
  // The clock went back, so the bucket is as far ahead as its rule allows: 250 ms plus the longest wait.
  expectEqual('the clock went back: until it passes', 250, refused.retryAfterMs);
  await probe.pass(250_000);
  await expectDelays(probe, 'the clock went back, after the promised wait', subject, [500]);

  await expectDelays(probe, 'with a longer wait', longer, [750, 1000]);
  await probe.pass(-60 * SECOND_US);
  // The longest wait of all rules that charged the bucket applies. Otherwise some of their units would be dropped.
  const far = await probe.ask('look', subject);
  expectEqual('the clock went back, after a longer wait: until all are back', 30_250, far.resetMs);
}

async function forgets(probe: Probe): Promise<void> {
  const subject = probe.fresh(PACED);
  await expectDelays(probe, 'before a reset', subject, [0, 250, 500]);
  await probe.ask('hold', subject, 0, { holdUs: 60 * SECOND_US });
  const reset = await probe.ask('reset', { ...subject, rule: PAIRS });
  expectEqual('answer of a reset: pause', 0, reset.pausedUntilUs);
  expectEqual('answer of a reset: used', 0, reset.used);
  await expectDelays(probe, 'after a reset', subject, [0, 250]);
}

/**
 * Two subjects of one key: one is paced at 4 requests a second, the other at 100 tokens a second with a burst of 50.
 */
function requestsAndTokens(probe: Probe, waitUs: number): readonly [Subject, Subject] {
  const requests = probe.fresh(makeShaperRule(4, SECOND_US, 1, waitUs));
  const rule = makeShaperRule(100, SECOND_US, 50, waitUs);
  return [requests, { ...requests, limiter: `${requests.limiter}-2`, rule }];
}

function takeTogether(
  probe: Probe,
  [requests, tokens]: readonly [Subject, Subject],
  cost: number,
): Promise<readonly Seen[]> {
  const together = { together: true };
  return probe.apply([step('take', requests, 1, together), step('take', tokens, cost, together)]);
}

async function startsTogether(probe: Probe): Promise<void> {
  const both = requestsAndTokens(probe, 30 * SECOND_US);
  const [requests, tokens] = both;
  // The tokens of the second job are available after 500 ms. Later jobs cost almost no tokens, but wait behind it.
  for (const [cost, startMs] of [
    [50, 0],
    [50, 500],
    [1, 750],
    [1, 1000],
  ] as const) {
    const delays = (await takeTogether(probe, both, cost)).map(({ delayMs }) => delayMs);
    expectEqual(`${cost} tokens: start`, startMs, Math.max(...delays));
    expectEqual(`${cost} tokens: wait of the request`, startMs, delays[0] ?? -1);
  }
  await expectDelays(probe, 'a request alone, behind them', requests, [1250]);
  // 102 tokens are taken: 50 at once, then one every 10 ms. So the next token has to wait for 53 tokens.
  const alone = await probe.ask('take', tokens, 1);
  expectEqual('a token alone, behind them: wait', 530, alone.delayMs);

  const [slow, plain] = requestsAndTokens(probe, 30 * SECOND_US);
  await expectDelays(probe, 'a queue', slow, [0, 250, 500]);
  const answers = await probe.apply([step('take', slow), step('take', plain)]);
  expectEqual('not together: wait of a request', 750, answers[0]?.delayMs ?? -1);
  expectEqual('not together: wait of a token', 0, answers[1]?.delayMs ?? -1);
}

async function rejectsTogether(probe: Probe): Promise<void> {
  const both = requestsAndTokens(probe, SECOND_US / 2);
  const [requests, tokens] = both;
  for (const startMs of [0, 500]) {
    const { delayMs } = await probe.ask('take', tokens, 50);
    expectEqual('50 tokens: wait', startMs, delayMs);
  }
  const rejected = await takeTogether(probe, both, 30);
  expectEqual('a start in 800 ms: passes', false, rejected[1]?.allowed ?? true);
  const never = await takeTogether(probe, both, 51);
  expectEqual('51 tokens: passes', false, never[1]?.allowed ?? true);
  await expectDelays(probe, 'a request after that', requests, [0]);
}
