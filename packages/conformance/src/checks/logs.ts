import { makeRule } from '@spillway/core/store';
import type { Check, Harness, Settings } from '../harness.js';
import { check, expectEqual, type Probe, receiptOf } from '../probe.js';
import { forAll } from '../property.js';
import { longTraces } from '../trace.js';
import { replay } from '../trace-replay.js';

const WINDOW_US = 10_000_000;
const rule = makeRule('sliding-window-log', 10, WINDOW_US);

export function logChecks(harness: Harness, { runs, seed }: Settings): Check[] {
  const few = { seed, runs: Math.ceil(runs / 50) };
  const long = longTraces(makeRule('sliding-window-log', 500, WINDOW_US));
  return [
    check('replays logs of hundreds of entries exactly as the oracle', harness, (probe) =>
      forAll(long, few, (trace) => replay(probe, trace)),
    ),
    check('gives back by its instant what a log has counted, in any parts', harness, givesBack),
    check('promises a true wait at the first instant of the epoch', harness, waitsFromZero),
    check('writes nothing when it looks at a log that is ahead of its clock', harness, looksAhead),
  ];
}

async function givesBack(probe: Probe): Promise<void> {
  const subject = probe.fresh(rule);
  const { answer } = await probe.ask('take', subject, 3);
  await probe.ask('take', subject, 4); // at the same instant
  await probe.pass(1);
  await probe.ask('take', subject, 2);
  const receipt = receiptOf(answer, 7);
  for (const [cost, allowed, remaining] of [
    [5, true, 6],
    [5, true, 8],
    [5, false, 8],
  ] as const) {
    const put = await probe.ask('put', subject, cost, { receipt });
    expectEqual(`put of ${cost}: allowed`, allowed, put.allowed);
    expectEqual(`put of ${cost}: remaining`, remaining, put.remaining);
  }
  await probe.pass(WINDOW_US - 1);
  expectEqual('what is left counts', 8, (await probe.ask('look', subject)).remaining);
  await probe.pass(1);
  expectEqual('and expires by its own time', 10, (await probe.ask('look', subject)).remaining);
}

async function waitsFromZero(probe: Probe): Promise<void> {
  const subject = probe.fresh(rule);
  await probe.at(0);
  await probe.ask('take', subject, 10);
  for (const op of ['look', 'take'] as const) {
    const { retryAfterMs } = await probe.ask(op, subject);
    expectEqual(`${op} at 0: retryAfterMs`, WINDOW_US / 1000, retryAfterMs);
  }
  await probe.at(WINDOW_US - 1);
  expectEqual('1 us less: allowed', false, (await probe.ask('take', subject)).allowed);
  await probe.at(WINDOW_US);
  expectEqual('after it: allowed', true, (await probe.ask('take', subject)).allowed);
}

async function looksAhead(probe: Probe): Promise<void> {
  const subject = probe.fresh(rule);
  const startUs = probe.nowUs;
  await probe.at(startUs + 3 * WINDOW_US);
  await probe.ask('take', subject, 10);
  await probe.at(startUs);
  const look = await probe.ask('look', subject);
  expectEqual('look, three windows back: remaining', 0, look.remaining);
  expectEqual('look, three windows back: resetMs', WINDOW_US / 1000, look.resetMs);
  await probe.ask('take', subject, 0);
  await probe.ask('record', subject, 0);
  await probe.ask('put', subject, 1, { receipt: { atUs: startUs - 1, num: 0, units: 1 } });
  // No step has moved the units in time, so they still count.
  await probe.at(startUs + 3 * WINDOW_US + 1);
  expectEqual('back in time: remaining', 0, (await probe.ask('look', subject)).remaining);
}
