/** Callers by number: each name keeps its number, whatever the name contains. */

import type { DecisionEvent } from '@spillway/core';
import { describe, expect, it } from 'vitest';
import { CallerTable, firstOf } from '../../src/replay/caller-table.js';
import { jsonLines } from '../../src/replay/json-lines.js';
import type { LogEntry } from '../../src/replay/log-entry.js';
import { Names } from '../../src/replay/names.js';
import { Tally } from '../../src/replay/tally.js';
import { Trace } from '../../src/replay/trace.js';
import { tryOthers } from '../../src/replay/trials.js';

describe('a name', () => {
  it('keeps its number among 300,000 others, and can be read', () => {
    const names = new Names();
    const nameAt = (at: number): string => `${at % 3 === 0 ? 'ü' : ''}${at}`;
    for (let round = 0; round < 2; round += 1) {
      for (let at = 0; at < 300_000; at += 1) {
        const id = names.find(nameAt(at));
        if (id !== (round === 0 ? -1 : at)) throw new Error(`${nameAt(at)} has number ${id}`);
        if (id < 0) names.add();
      }
    }
    expect(names.size).toBe(300_000);
    expect(names.nameOf(299_999)).toBe('299999');
    expect(names.nameOf(3)).toBe('ü3');
  });

  it.each(['', '\0', 'a\nb', '@["ü","\u{1f600}"]', '\u{1f600}'.repeat(64)])('may be %j', (name) => {
    const names = new Names();
    expect(names.find(name)).toBe(-1);
    expect(names.add()).toBe(0);
    expect(names.find(`${name}x`)).toBe(-1);
    expect(names.find(name)).toBe(0);
    expect(names.nameOf(0)).toBe(name);
  });

  it('may be a megabyte: its beginning and its end are kept', () => {
    const names = new Names();
    const long = 'ü'.repeat(1_000_000);
    for (const name of [`${long}1`, `${long}2`]) {
      expect(names.find(name)).toBe(-1);
      names.add();
    }
    expect(names.find(`${long}1`)).toBe(0);
    expect(names.nameOf(1)).toMatch(/^ü{105}…[\w-]{22}…ü{126}2$/);
  });

  it.each([
    [
      'longer than is kept, and differs in the middle',
      (at: number) => `${'x'.repeat(500)}${at}${'y'.repeat(500)}`,
    ],
    ['no well-formed text', (at: number) => `a${String.fromCharCode(0xd800 + at)}`],
  ])('may be %s', (_, nameAt) => {
    const names = new Names();
    for (let at = 0; at < 10; at += 1) {
      expect(names.find(nameAt(at))).toBe(-1);
      expect(names.add()).toBe(at);
    }
    for (let at = 0; at < 10; at += 1) expect(names.find(nameAt(at))).toBe(at);
  });
});

it('the first 100,000 of a million callers are found at once', () => {
  const rank = (id: number): number => (id * 7_919) % 1_000_003;
  const compare = (a: number, b: number): number => rank(b) - rank(a);
  const begin = performance.now();
  const first = firstOf(1_000_000, 100_000, compare);
  expect(performance.now() - begin).toBeLessThan(20_000);
  expect(first).toHaveLength(100_000);
  const all = Array.from({ length: 1_000_000 }, (_, id) => id).sort(compare);
  expect(first).toEqual(all.slice(0, 100_000));
});

it('callers beyond a million share one row', () => {
  const table = new CallerTable();
  for (let at = 0; at < 1_000_010; at += 1) table.count(`${at}`, 0);
  expect(table.size).toBe(1_000_001);
  expect(table.nameOf(1_000_000)).toBe('(other callers)');
  expect(table.requestsOf(1_000_000)).toBe(10);
});

it('the joint row of callers beyond a million is not tried as one caller', () => {
  const numbers = { algorithm: 'token-bucket', limit: 1, windowMs: 60_000 };
  const tally = new Tally('tally', numbers);
  const format = jsonLines('json', {});
  const entry = format.parse(Buffer.from('{"time":1,"ip":"a"}'), 0, 19) as LogEntry;
  const event = { outcome: 'allowed', cost: 1 } as DecisionEvent;
  for (let at = 0; at < 1_000_010; at += 1) {
    for (const timing of [0, 1] as const) tally.count(timing, event, `${at}`, entry, 1);
  }
  const { table } = tryOthers(tally, numbers, false, { maxRejected: 0, maxCallers: 0 });
  expect(table.map(({ rejected }) => rejected.high)).toEqual(table.map(() => 0));
});

it('requests are sorted by caller and time, also if only some of them have costs', () => {
  const trace = new Trace();
  const requests = Array.from({ length: 150_000 }, (_, at) => {
    const caller = (at * 7_919) % 1_003;
    return { caller, timeUs: 2_000_000 + at, leadUs: at % 5, cost: at < 100_000 ? 1 : at % 3 };
  });
  for (const { caller, timeUs, leadUs, cost } of requests) trace.push(caller, timeUs, cost, leadUs);
  const starts = trace.sortByCaller(1_003);
  const sorted = requests.toSorted((a, b) => a.caller - b.caller || a.timeUs - b.timeUs);
  const found = sorted.map(({ caller }, at) => ({
    caller: at >= (starts[caller] ?? NaN) && at < (starts[caller + 1] ?? NaN) ? caller : -1,
    timeUs: trace.timeUs(at, false),
    leadUs: trace.timeUs(at, false) - trace.timeUs(at, true),
    cost: trace.cost(at),
  }));
  expect(found).toEqual(sorted);
});

it('a caller has its exact numbers beyond 65,535, and so do its neighbors', () => {
  const table = new CallerTable();
  table.count('before', 0);
  for (let at = 0; at < 70_000; at += 1) {
    const id = table.count('ada', at < 66_000 ? 3_600_000_000 : 7_200_000_000);
    table.reject(id, 1);
  }
  table.count('after', 0);
  expect(table.requestsOf(1)).toBe(70_000);
  expect(table.rejectedOf(1, 1)).toBe(70_000);
  expect(table.rejectedOf(1, 0)).toBe(0);
  expect(table.peaksOf(1)).toEqual({ second: 66_000, minute: 66_000, hour: 66_000 });
  expect([0, 2].map((id) => table.requestsOf(id))).toEqual([1, 1]);
});
