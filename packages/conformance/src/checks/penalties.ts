import { makeLockRule, makeRule } from '@spillway/core/store';
import type { Check, Harness } from '../harness.js';
import type { Subject } from '../oracle.js';
import { check, expectEqual, type Probe, receiptOf, type Seen, step } from '../probe.js';

const SECOND_US = 1_000_000;
const WINDOW_US = 10 * SECOND_US;
const LOCKS_US = [4 * SECOND_US, 20 * SECOND_US] as const;
const FORGET_US = 60 * SECOND_US;
const rule = makeLockRule(2, WINDOW_US, LOCKS_US, FORGET_US);

export function penaltyChecks(harness: Harness): Check[] {
  return [
    check('locks a key with the first rejection, longer each time', harness, locksLonger),
    check('neither counts nor extends a lock during it', harness, neverExtends),
    check('locks only for a binding take that could pass', harness, locksOnlyWhenBinding),
    check('locks no key that another limit rejects', harness, locksForItsOwn),
    check('ends a lock when an attempt of its window is given back', harness, endsByRefund),
    check('ends no later lock by a late refund', harness, ignoresLateRefunds),
    check('forgets locks some time after the last has ended', harness, forgetsLocks),
    check('holds a key for a lock, and never shortens it', harness, holdsKeys),
  ];
}

const retryUs = ({ retryAfterMs }: Seen): number => Math.round(retryAfterMs * 1000);

async function lock(probe: Probe, subject: Subject): Promise<Seen> {
  for (;;) {
    const answer = await probe.ask('take', subject);
    if (!answer.allowed) return answer;
  }
}

async function locksLonger(probe: Probe): Promise<void> {
  const subject = probe.fresh(rule);
  for (const [index, us] of [...LOCKS_US, LOCKS_US[1]].entries()) {
    const told = `lock ${index + 1}`;
    expectEqual(`${told}: retryAfterMs`, us, retryUs(await lock(probe, subject)));
    await probe.pass(us - 1);
    expectEqual(`1 us before the end of ${told}`, 1, retryUs(await probe.ask('take', subject)));
    await probe.pass(1);
    expectEqual(`after ${told}: remaining`, 2, (await probe.ask('look', subject)).remaining);
  }
}

async function neverExtends(probe: Probe): Promise<void> {
  const subject = probe.fresh(rule);
  await lock(probe, subject);
  for (let second = 1; second < 4; second += 1) {
    await probe.pass(SECOND_US);
    await probe.ask('record', subject, 2);
    await probe.ask('take', subject, 3);
    const told = `${second} s after the lock began: retryAfterMs`;
    expectEqual(told, (4 - second) * SECOND_US, retryUs(await probe.ask('take', subject)));
  }
  await probe.pass(SECOND_US);
  expectEqual('after the lock: used', 0, (await probe.ask('look', subject)).used);
}

async function locksOnlyWhenBinding(probe: Probe): Promise<void> {
  const subject = probe.fresh(rule);
  await probe.ask('take', subject, 2);
  await probe.ask('look', subject);
  await probe.ask('record', subject);
  await probe.ask('take', subject, 3);
  await probe.ask('take', subject, 1, { binding: false });
  const look = await probe.ask('look', subject);
  expectEqual('after a shadow take: retryAfterMs', WINDOW_US, retryUs(look));
}

async function locksForItsOwn(probe: Probe): Promise<void> {
  const subject = probe.fresh(rule);
  const other = probe.fresh(makeRule('token-bucket', 1, 100 * SECOND_US));
  await probe.ask('take', other);
  const both = [step('take', subject), step('take', other)];
  for (let turn = 0; turn < 3; turn += 1) await probe.apply(both);
  expectEqual('used', 0, (await probe.ask('look', subject)).used);
  await probe.ask('take', subject, 2);
  const [own] = await probe.apply(both);
  expectEqual('both reject: retryAfterMs', LOCKS_US[0], retryUs(own as Seen));
}

async function endsByRefund(probe: Probe): Promise<void> {
  const subject = probe.fresh(rule);
  await probe.ask('take', subject);
  const { answer } = await probe.ask('take', subject);
  await lock(probe, subject);
  await probe.pass(SECOND_US);
  const receipt = receiptOf(answer, 1);
  const put = await probe.ask('put', subject, 1, { receipt });
  expectEqual('a refund during the lock: allowed', true, put.allowed);
  expectEqual('the lock ended: remaining', 1, put.remaining);
  expectEqual('the lock ended: resetMs', (WINDOW_US - SECOND_US) / 1000, put.resetMs);
  expectEqual('used then', 1, (await probe.ask('look', subject)).used);
  const next = await lock(probe, subject);
  expectEqual('the next lock is the first: retryAfterMs', LOCKS_US[0], retryUs(next));
}

async function ignoresLateRefunds(probe: Probe): Promise<void> {
  const subject = probe.fresh(rule);
  const { answer } = await probe.ask('take', subject);
  await lock(probe, subject);
  await probe.pass(LOCKS_US[0]);
  await lock(probe, subject);
  const put = await probe.ask('put', subject, 1, { receipt: receiptOf(answer, 1) });
  expectEqual('a refund of the window before: allowed', false, put.allowed);
  expectEqual('the lock goes on', LOCKS_US[1], retryUs(await probe.ask('look', subject)));
}

async function forgetsLocks(probe: Probe): Promise<void> {
  const subject = probe.fresh(rule);
  await lock(probe, subject);
  await probe.pass(LOCKS_US[0] + FORGET_US - 1);
  const second = await lock(probe, subject);
  expectEqual('1 us before: retryAfterMs', LOCKS_US[1], retryUs(second));
  await probe.pass(LOCKS_US[1] + FORGET_US);
  expectEqual('then: retryAfterMs', LOCKS_US[0], retryUs(await lock(probe, subject)));
}

async function holdsKeys(probe: Probe): Promise<void> {
  const subject = probe.fresh(rule);
  const hold = (holdUs: number) => probe.ask('hold', subject, 0, { holdUs });
  await hold(3 * SECOND_US);
  await hold(SECOND_US);
  const look = await probe.ask('look', subject);
  expectEqual('held for 3 s, then for 1 s: retryAfterMs', 3 * SECOND_US, retryUs(look));
  await hold(3_600 * SECOND_US);
  const longest = await probe.ask('look', subject);
  expectEqual('held for longer than any lock: retryAfterMs', LOCKS_US[1], retryUs(longest));
  await probe.pass(LOCKS_US[1]);
  const next = await lock(probe, subject);
  expectEqual('a hold counts as one lock: retryAfterMs', LOCKS_US[1], retryUs(next));
}
