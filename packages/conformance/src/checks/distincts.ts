import { makeDistinctRule } from '@spillway/core/store';
import type { Check, Harness } from '../harness.js';
import type { Subject } from '../oracle.js';
import { check, expectEqual, type Probe, receiptOf, type Seen, step } from '../probe.js';

const WINDOW_US = 60_000_000;

export function distinctChecks(harness: Harness): Check[] {
  return [
    check('counts a thing until a window after it was added, however often', harness, keepsTime),
    check('adds all things of a step, or none', harness, addsAll),
    check('keeps a thing that a refunded request shares with another', harness, keepsShared),
    check('gives back only what the request has added, and not again', harness, givesBackOwn),
    check('waits for things to leave that the step does not need', harness, waitsForOthers),
    check('keeps things when the limit on them is lowered', harness, keepsWhenLowered),
    check('passes no step of more than 100 things', harness, boundsSteps),
    check('finds a thing only where it begins', harness, findsWhole),
    check('joins the things of two steps on one count', harness, joins),
    check('records things in place of the oldest', harness, recordsNewest),
  ];
}

const item = (at: number): string => at.toString(16).padStart(2, '0').repeat(16);

class Things {
  private readonly probe: Probe;
  private readonly subject: Subject;

  constructor(probe: Probe, limit: number) {
    this.probe = probe;
    this.subject = probe.fresh(makeDistinctRule(limit, WINDOW_US));
  }

  /** A subject with this limit and these items. All subjects of this object share one count. */
  at(limit: number, ...items: readonly (number | string)[]): Subject {
    const named = items.map((one) => (typeof one === 'string' ? one : item(one)));
    return { ...this.subject, rule: makeDistinctRule(limit, WINDOW_US), items: named };
  }

  of(...items: readonly (number | string)[]): Subject {
    return this.at(this.subject.rule.limit, ...items);
  }

  async take(...items: readonly (number | string)[]): Promise<Seen> {
    return this.probe.ask('take', this.of(...items), items.length);
  }

  async put(grant: Seen, ...items: readonly number[]): Promise<Seen> {
    const receipt = receiptOf(grant.answer, items.length);
    return this.probe.ask('put', this.of(...items), items.length, { receipt });
  }
}

async function keepsTime(probe: Probe): Promise<void> {
  const things = new Things(probe, 2);
  await things.take(1);
  await probe.pass(WINDOW_US - 1);
  for (const turn of [1, 2]) {
    expectEqual(`repeat ${turn}: allowed`, true, (await things.take(1)).allowed);
  }
  const other = await things.take(2);
  expectEqual('another: used', 2, other.used);
  const refused = await things.take(3);
  expectEqual('a third, 1 us before the first leaves: allowed', false, refused.allowed);
  expectEqual('a third: retryAfterMs', 0.001, refused.retryAfterMs);
  await probe.pass(1);
  expectEqual('a third, when it has left: allowed', true, (await things.take(3)).allowed);
  expectEqual('the second: resetMs', WINDOW_US / 1000, (await things.take(2)).resetMs);
}

async function addsAll(probe: Probe): Promise<void> {
  const things = new Things(probe, 3);
  expectEqual('two: used', 2, (await things.take(1, 2)).used);
  const refused = await things.take(3, 4);
  expectEqual('two more of three: allowed', false, refused.allowed);
  expectEqual('two more of three: used', 2, refused.used);
  const full = await things.take(1, 2, 3);
  expectEqual('one more beside repeats: allowed', true, full.allowed);
  expectEqual('one more beside repeats: used', 3, full.used);
  expectEqual('repeats when full: allowed', true, (await things.take(3, 1)).allowed);
}

async function keepsShared(probe: Probe): Promise<void> {
  const things = new Things(probe, 5);
  const first = await things.take(1, 2);
  await probe.pass(1);
  const repeat = await things.take(1);
  expectEqual('put of the repeat: allowed', false, (await things.put(repeat, 1)).allowed);
  const put = await things.put(first, 1, 2);
  expectEqual('put of the first: allowed', true, put.allowed);
  expectEqual('put of the first: used', 1, put.used);
  expectEqual('the shared one, repeated: used', 1, (await things.take(1)).used);
}

async function givesBackOwn(probe: Probe): Promise<void> {
  const things = new Things(probe, 5);
  const first = await things.take(1, 2, 3);
  const subject = things.of(1, 2, 3);
  const receipt = receiptOf(first.answer, 3);
  for (const [cost, used] of [
    [1, 2],
    [2, 0],
  ] as const) {
    const put = await probe.ask('put', subject, cost, { receipt });
    expectEqual(`put of ${cost}: used`, used, put.used);
  }
  expectEqual('put again: allowed', false, (await things.put(first, 1, 2, 3)).allowed);
  await probe.pass(WINDOW_US);
  await things.take(1);
  const late = await things.put(first, 1, 2, 3);
  expectEqual('put of what was added again: allowed', false, late.allowed);
  expectEqual('put of what was added again: used', 1, late.used);
}

async function waitsForOthers(probe: Probe): Promise<void> {
  const things = new Things(probe, 3);
  for (const one of [1, 2, 3]) {
    await things.take(one);
    await probe.pass(1_000);
  }
  const rows = [
    [[4], 0],
    [[4, 5], 1],
    [[1, 4], 1],
    [[1, 2, 4], 2],
    [[1, 2, 3, 4], Number.POSITIVE_INFINITY],
  ] as const;
  for (const [items, leaves] of rows) {
    const waitMs = WINDOW_US / 1000 - 3 + leaves;
    const { retryAfterMs } = await things.take(...items);
    expectEqual(`things ${items.join(' and ')}: retryAfterMs`, waitMs, retryAfterMs);
  }
}

async function keepsWhenLowered(probe: Probe): Promise<void> {
  const things = new Things(probe, 4);
  await things.take(1, 2, 3);
  const same = await probe.ask('take', things.at(1, 1, 2, 3), 3);
  expectEqual('the same at a limit of 1: allowed', true, same.allowed);
  expectEqual('the same at a limit of 1: retryAfterMs', 0, same.retryAfterMs);
  const other = await probe.ask('take', things.at(1, 4));
  expectEqual('another at a limit of 1: allowed', false, other.allowed);
  expectEqual('another at a limit of 1: remaining', 0, other.remaining);
  expectEqual('another at the old limit: used', 4, (await things.take(4)).used);
}

async function boundsSteps(probe: Probe): Promise<void> {
  const things = new Things(probe, 1_000);
  const many = Array.from({ length: 101 }, (_, at) => at);
  const refused = await things.take(...many);
  expectEqual('101 things: allowed', false, refused.allowed);
  expectEqual('101 things: retryAfterMs', Number.POSITIVE_INFINITY, refused.retryAfterMs);
  expectEqual('100 things: used', 100, (await things.take(...many.slice(1))).used);
  expectEqual('one more: used', 101, (await things.take(0)).used);
  expectEqual('101 repeats: allowed', false, (await things.take(...many)).allowed);
}

/** A store that packs items together with their times must not find an item in bytes that span several of them. */
async function findsWhole(probe: Probe): Promise<void> {
  const things = new Things(probe, 50);
  await things.take(1, 2);
  const time = probe.nowUs.toString(16).padStart(14, '0');
  const packed = `${item(1)}${time}${item(2)}${time}`;
  let used = 2;
  for (let at = 2; at <= packed.length - 32; at += 2) {
    const between = packed.slice(at, at + 32);
    if (between === item(2)) continue;
    used += 1;
    expectEqual(`a thing like byte ${at / 2}: used`, used, (await things.take(between)).used);
  }
}

async function joins(probe: Probe): Promise<void> {
  const things = new Things(probe, 3);
  const group = (first: readonly number[], second: readonly number[]) =>
    probe.apply([first, second].map((items) => step('take', things.of(...items), items.length)));
  const refused = await group([1, 2], [3, 4]);
  expectEqual('four of three: allowed', false, refused[1]?.allowed ?? true);
  const joined = await group([1, 2], [2, 3]);
  expectEqual('three, one of them twice: allowed', true, joined[0]?.allowed ?? false);
  expectEqual('three, one of them twice: used', 3, joined[1]?.used ?? 0);
}

async function recordsNewest(probe: Probe): Promise<void> {
  const things = new Things(probe, 2);
  await things.take(1, 2);
  await probe.pass(1);
  const recorded = await probe.ask('record', things.of(3));
  expectEqual('record: allowed', false, recorded.allowed);
  expectEqual('record: used', 2, recorded.used);
  expectEqual('the newest: allowed', true, (await things.take(2, 3)).allowed);
  expectEqual('the oldest: allowed', false, (await things.take(1)).allowed);
}
