import { makeRule } from '@spillway/core/store';
import type { Check, Harness } from '../harness.js';
import { check, expectEqual, type Probe, receiptOf } from '../probe.js';

const WINDOW_US = 10_000_000;
const rule = makeRule('fixed-window', 3, WINDOW_US, undefined, 'first-request');

export function anchoredChecks(harness: Harness): Check[] {
  return [
    check('begins an anchored window when its key is first charged', harness, beginsAtFirstCharge),
    check('begins no anchored window without a charge', harness, beginsWithoutCharge),
    check('ends an anchored window whose units were all given back', harness, endsWithItsUnits),
    check('keeps an anchored window of which some units were given back', harness, keepsTheRest),
  ];
}

async function beginsAtFirstCharge(probe: Probe): Promise<void> {
  const ada = probe.fresh(rule);
  const bob = { ...ada, key: 'bob' };
  await probe.pass(WINDOW_US / 2 + 7);
  const script = [
    // [microseconds since the previous take, subject, allowed, remaining, microseconds until the reset]
    [0, ada, true, 2, WINDOW_US],
    [4_000_000, bob, true, 2, WINDOW_US],
    [3_000_000, ada, true, 1, 3_000_000],
    [1_000_000, ada, true, 0, 2_000_000],
    [1_999_999, ada, false, 0, 1],
    [1, ada, true, 2, WINDOW_US],
    [0, bob, true, 1, 4_000_000],
    [25_000_000, ada, true, 2, WINDOW_US],
  ] as const;
  for (const [at, [passUs, subject, allowed, remaining, resetUs]] of script.entries()) {
    await probe.pass(passUs);
    const answer = await probe.ask('take', subject);
    const told = `take ${at + 1}, of ${subject.key}`;
    expectEqual(`${told}: allowed`, allowed, answer.allowed);
    expectEqual(`${told}: remaining`, remaining, answer.remaining);
    expectEqual(`${told}: resetMs`, resetUs / 1000, answer.resetMs);
  }
}

async function beginsWithoutCharge(probe: Probe): Promise<void> {
  const subject = probe.fresh(rule);
  await probe.ask('look', subject);
  await probe.ask('take', subject, 0);
  await probe.ask('take', subject, 4);
  await probe.ask('record', subject, 0);
  await probe.pass(6_000_000);
  const first = await probe.ask('take', subject);
  expectEqual('take 6 s after a look and a refusal: resetMs', WINDOW_US / 1000, first.resetMs);
  await probe.pass(9_000_000);
  expectEqual('9 s later: remaining', 2, (await probe.ask('look', subject)).remaining);
}

async function endsWithItsUnits(probe: Probe): Promise<void> {
  const subject = probe.fresh(rule);
  const { answer } = await probe.ask('take', subject, 2);
  await probe.pass(4_000_000);
  await probe.ask('put', subject, 2, { receipt: receiptOf(answer, 2) });
  const next = await probe.ask('take', subject);
  expectEqual('take after all was given back: resetMs', WINDOW_US / 1000, next.resetMs);
  const late = await probe.ask('put', subject, 1, { receipt: receiptOf(answer, 2) });
  expectEqual('put of a grant of the window before: allowed', false, late.allowed);
  await probe.pass(9_000_000);
  expectEqual('9 s later: remaining', 2, (await probe.ask('look', subject)).remaining);
}

async function keepsTheRest(probe: Probe): Promise<void> {
  const subject = probe.fresh(rule);
  const { answer } = await probe.ask('take', subject, 2);
  await probe.pass(4_000_000);
  const put = await probe.ask('put', subject, 1, { receipt: receiptOf(answer, 2) });
  expectEqual('one of two given back: resetMs', 6_000, put.resetMs);
  const next = await probe.ask('take', subject);
  expectEqual('the next take: resetMs', 6_000, next.resetMs);
  expectEqual('the next take: remaining', 1, next.remaining);
}
