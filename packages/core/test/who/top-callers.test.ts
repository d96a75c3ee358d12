/** The tables of rejected callers: what they count, for how long, and what they retain of a flood. */

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { type Decision, rateLimit } from '@spillway/core';
import { ManualClock } from '@spillway/core/testing';
import {
  type CallerCount,
  CallerSeal,
  type CallerSummary,
  type LimiterReport,
  mergeReports,
  type ReportSink,
  type TopCallers,
  type TopCallersOptions,
  topCallers,
} from '@spillway/core/who';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { setUp, two } from '../guard-set-up.js';
import { seeded } from '../net/random.js';

const SECRET = 'a secret of the tests';
const SLICE_MS = 10_000;

/** A guard with the observer. It decides by another clock, so counts do not expire. */
function watched(
  options: TopCallersOptions = {},
  limiters = [rateLimit({ ...two, key: ({ path }) => path })],
) {
  const clock = new ManualClock();
  const callers = topCallers({ clock, random: () => 0.5, ...options });
  const { admit } = setUp(limiters, { observers: [callers] });
  return {
    clock,
    callers,
    requests: (path: string, count: number) => {
      for (let i = 0; i < count; i += 1) admit({ path });
    },
    report: () => callers.report()[0] as LimiterReport,
  };
}

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

function heapBytes(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

/** Random numbers from 0 to 1, the same for each seed. */
function fractions(seed: number): () => number {
  const random = seeded(seed);
  return () => random(2 ** 32) / 2 ** 32;
}

const denied: Decision = {
  limiter: 'api',
  allowed: false,
  outcome: 'denied',
  reason: 'rate',
  cost: 1,
  used: 2,
  remaining: 0,
  retryAfterMs: 1,
  resetMs: 1,
};

describe('the tables of a process', () => {
  it('list the rejected callers, most first, with exact counts', () => {
    const { requests, report } = watched();
    requests('ada', 5);
    requests('bob', 9);
    requests('eve', 1);
    expect(report()).toMatchObject({
      limiter: 'two',
      mode: 'enforce',
      counts: { allowed: 5, denied: 10, 'would-deny': 0 },
      rejected: {
        minute: {
          total: 10,
          callers: [
            { caller: 'bob', atLeast: 7, atMost: 7 },
            { caller: 'ada', atLeast: 3, atMost: 3 },
          ],
          othersAtMost: 0,
        },
      },
      wouldReject: { quarter: { total: 0, callers: [] } },
    });
  });

  it('list whom a limiter in shadow mode would reject apart from whom it rejects', () => {
    const shadow = rateLimit({ ...two, mode: 'shadow', key: ({ path }) => path });
    const { requests, report } = watched({}, [shadow]);
    requests('ada', 5);
    expect(report()).toMatchObject({
      mode: 'shadow',
      rejected: { minute: { total: 0 } },
      wouldReject: { minute: { total: 3, callers: [{ atLeast: 3 }] } },
    });
  });

  it('count replayed responses of idempotency, but list no caller for them', () => {
    const callers = topCallers({ clock: new ManualClock() });
    callers.countDecision({ ...denied, outcome: 'replayed' }, 'enforce', 'ada');
    expect(callers.report()[0]).toMatchObject({
      counts: { replayed: 1 },
      rejected: { minute: { total: 0, callers: [] } },
    });
  });

  it('have exact totals in a flood of all outcomes, though only a sample of the callers', () => {
    const clock = new ManualClock();
    const callers = topCallers({ clock });
    for (let i = 0; i < 60_000; i += 1) {
      callers.countDecision(denied, 'enforce', 'ada');
      if (i % 10 > 0) continue;
      callers.countDecision({ ...denied, outcome: 'error' }, 'enforce', 'ada');
      callers.countDecision({ ...denied, allowed: true, outcome: 'would-deny' }, 'shadow', 'ada');
    }
    const exact = {
      counts: { denied: 60_000, error: 6_000, 'would-deny': 6_000 },
      rejected: { minute: { total: 66_000 } },
      wouldReject: { minute: { total: 6_000 } },
    };
    expect(callers.report()[0]).toMatchObject(exact);
    clock.advance(SLICE_MS);
    callers.countDecision(denied, 'enforce', 'ada');
    const next = { counts: { denied: 60_001 }, rejected: { minute: { total: 66_001 } } };
    expect(callers.report()[0]).toMatchObject(next);
  });

  it('forget what is older than a minute, and than 15 minutes', () => {
    const { clock, requests, report } = watched();
    requests('ada', 5);
    clock.advance(SLICE_MS * 5);
    expect(report().rejected.minute.total).toBe(3);
    clock.advance(SLICE_MS);
    expect(report().rejected).toMatchObject({
      minute: { total: 0, callers: [] },
      quarter: { total: 3 },
    });
    clock.advance('13m');
    expect(report().rejected.quarter.total).toBe(3);
    clock.advance('1m');
    expect(report().rejected.quarter.total).toBe(0);
    expect(report().counts.denied).toBe(3);
  });

  it('add up a caller over all slices of their time', () => {
    const { clock, requests, report } = watched();
    requests('ada', 2);
    for (let slice = 0; slice < 12; slice += 1) {
      requests('ada', 1);
      clock.advance(SLICE_MS);
    }
    expect(report().rejected).toMatchObject({
      minute: { callers: [{ atLeast: 5, atMost: 5 }] },
      quarter: { callers: [{ atLeast: 12, atMost: 12 }] },
    });
  });

  it('count rejections without a key, as of a load shedder, but list no caller', () => {
    const callers = topCallers({ clock: new ManualClock() });
    callers.countDecision(denied, 'enforce', undefined);
    expect(callers.report()[0]?.rejected.minute).toEqual({
      total: 1,
      callers: [],
      othersAtMost: 0,
    });
  });

  it('count the limiters beyond a thousand together', () => {
    const callers = topCallers({ clock: new ManualClock() });
    for (let i = 0; i < 1_500; i += 1)
      callers.countDecision({ ...denied, limiter: `of ${i}` }, 'enforce', 'ada');
    const reports = callers.report();
    expect(reports).toHaveLength(1_001);
    expect(reports.at(-1)).toMatchObject({ limiter: '(others)', counts: { denied: 500 } });
  });
});

describe('over many slices', () => {
  const reject = (callers: TopCallers, names: Readonly<Record<string, number>>): void => {
    for (const [name, count] of Object.entries(names)) {
      for (let i = 0; i < count; i += 1) callers.countDecision(denied, 'enforce', name);
    }
  };
  const others = (count: number): Record<string, number> =>
    Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`other ${i}`, count]));

  it('a caller that is never among the first of a slice, but leads over all of them, is listed', () => {
    const clock = new ManualClock();
    const summaries: CallerSummary[] = [];
    const write = (summary: CallerSummary): void => void summaries.push(summary);
    const callers = topCallers({ clock, write, every: '1h', random: () => 0.999 });
    reject(callers, others(100));
    for (let slice = 0; slice < 85; slice += 1) {
      clock.advance(SLICE_MS);
      reject(callers, { steady: 99 });
    }
    const { quarter } = (callers.report()[0] as LimiterReport).rejected;
    void callers.close();
    for (const list of [quarter, ...summaries]) {
      expect(list.total).toBe(20 * 100 + 85 * 99);
      const [first] = list.callers as [CallerCount];
      expect(first.caller).toBe('steady');
      expect(first.atLeast).toBeGreaterThan(80 * 99);
      expect(first.atMost).toBeGreaterThanOrEqual(85 * 99);
    }
    expect(summaries).toHaveLength(1);
  });

  it.each([1, 2, 3, 4, 5, 6])(
    'a caller with six percent of all rejections is listed, in whatever order they come (seed %i)',
    (seed) => {
      const random = fractions(seed);
      const clock = new ManualClock();
      const callers = topCallers({ clock, random });
      const counts = new Map<string, number>();
      for (let slice = 0; slice < 80; slice += 1) {
        // The callers with most rejections change from slice to slice.
        for (let i = 0; i < 60; i += 1) {
          const name = i < 20 ? `slice ${slice}.${i}` : `caller ${Math.floor(40 * random() ** 3)}`;
          const count = i < 20 ? 40 : Math.floor(30 * random());
          counts.set(name, (counts.get(name) ?? 0) + count);
          reject(callers, { [name]: count });
        }
        clock.advance(SLICE_MS);
      }
      const { quarter } = (callers.report()[0] as LimiterReport).rejected;
      for (const { caller, atLeast, atMost } of quarter.callers) {
        const count = counts.get(caller) as number;
        counts.delete(caller);
        expect(atLeast).toBeLessThanOrEqual(count);
        expect(atMost).toBeGreaterThanOrEqual(count);
      }
      const missed = Math.max(...counts.values());
      expect(missed).toBeLessThanOrEqual(quarter.othersAtMost);
      expect(missed).toBeLessThan(0.06 * quarter.total);
    },
  );

  it('ranges are valid although two keys have the same sealed text', () => {
    const callers = topCallers({ clock: new ManualClock(), secret: SECRET });
    for (const end of ['\ud800', '\ud801']) reject(callers, { [`key ${end}`]: 500 });
    for (let i = 0; i < 1_000; i += 1) reject(callers, { [`other ${i}`]: 1 });
    const [merged] = mergeReports(callers.report()) as [LimiterReport];
    const [first] = merged.rejected.minute.callers as [CallerCount];
    expect(first.atLeast).toBe(1_000);
    expect(first.atMost).toBeGreaterThanOrEqual(1_000);
  });
});

describe('in a flood of more than 50,000 rejections in 10 s', () => {
  /** Rejects `count` requests of callers whose frequencies fall with their rank, and returns what each was charged. */
  function flood(seed: number, count: number) {
    const random = fractions(seed);
    const callers = topCallers({ clock: new ManualClock(), random: fractions(seed + 1_000) });
    const counts = new Map<string, number>();
    const ranks = 10 ** (2 + 3 * random());
    for (let i = 0; i < count; i += 1) {
      // A few callers come only at the end, when the sample is taken.
      const name = `${i > 0.8 * count && i % 7 === 0 ? 'late' : 'rank'} ${Math.floor(ranks ** random())}`;
      counts.set(name, (counts.get(name) ?? 0) + 1);
      callers.countDecision(denied, 'enforce', name);
    }
    return { counts, ...(callers.report()[0] as LimiterReport).rejected.minute };
  }

  it.each([1, 2, 3, 4, 5, 6, 7, 8])(
    'counts are ranges that include the truth (seed %i)',
    (seed) => {
      const { counts, total, callers, othersAtMost } = flood(seed, 300_000);
      expect(total).toBe(300_000);
      expect(callers.some(({ atLeast, atMost }) => atLeast < atMost)).toBe(true);
      for (const { caller, atLeast, atMost } of callers) {
        const count = counts.get(caller) as number;
        counts.delete(caller);
        expect(count).toBeGreaterThanOrEqual(atLeast);
        expect(count).toBeLessThanOrEqual(atMost);
      }
      const missed = Math.max(...counts.values());
      expect(missed).toBeLessThanOrEqual(othersAtMost);
      expect(missed).toBeLessThan(0.06 * total);
    },
  );

  it('the only caller has nearly all rejections', () => {
    const callers = topCallers({ clock: new ManualClock(), random: fractions(1) });
    for (let i = 0; i < 1_000_000; i += 1) callers.countDecision(denied, 'enforce', 'eve');
    const {
      total,
      callers: [eve],
    } = (callers.report()[0] as LimiterReport).rejected.minute;
    expect(total).toBe(1_000_000);
    expect(eve?.atLeast).toBeGreaterThan(0.96 * total);
    expect(eve?.atMost).toBe(total);
  });

  it('the first 50,000 are all counted, and none after them that the sample does not contain', () => {
    const callers = topCallers({ clock: new ManualClock(), random: () => 1 - 2 ** -53 });
    const counted = (count: number) => {
      for (let i = 0; i < count; i += 1) callers.countDecision(denied, 'enforce', 'eve');
      return (callers.report()[0] as LimiterReport).rejected.minute.callers;
    };
    expect(counted(50_000)).toEqual([{ caller: 'eve', atLeast: 50_000, atMost: 50_000 }]);
    expect(counted(1)).toEqual([{ caller: 'eve', atLeast: 50_000, atMost: 50_001 }]);
  });

  it('one in 64 is counted after that, and ranges have four standard deviations on both sides', () => {
    const callers = topCallers({ clock: new ManualClock(), random: () => 1 - 1 / Math.E });
    for (const [caller, count] of Object.entries({ eve: 50_000, ada: 64_000, bob: 64_000 })) {
      for (let i = 0; i < count; i += 1) callers.countDecision(denied, 'enforce', caller);
    }
    const { callers: listed } = (callers.report()[0] as LimiterReport).rejected.minute;
    // 1,000 are counted, with a standard deviation of 31.6. The bounds are not symmetric, as for any small count.
    expect(listed).toContainEqual({ caller: 'ada', atLeast: 56_221, atMost: 72_487 });
  });

  it('a caller that is sampled by chance has a range that includes its only rejection', () => {
    const callers = topCallers({ clock: new ManualClock(), random: fractions(2) });
    for (let i = 0; i < 50_002; i += 1) callers.countDecision(denied, 'enforce', 'eve');
    for (let i = 0; i < 20_000; i += 1) callers.countDecision(denied, 'enforce', `once ${i}`);
    const { callers: listed } = (callers.report()[0] as LimiterReport).rejected.minute;
    expect(listed).toHaveLength(20);
    for (const { caller, atLeast, atMost } of listed) {
      const count = caller === 'eve' ? 50_002 : 1;
      expect([caller, atLeast <= count, atMost >= count]).toEqual([caller, true, true]);
      expect(atLeast).toBeGreaterThan(0);
    }
  });

  it.each([1, 2, 3, 4, 5, 6, 7, 8])(
    'a caller that comes only after the 50,000th, with six percent of all, is listed (seed %i)',
    (seed) => {
      const callers = topCallers({ clock: new ManualClock(), random: fractions(seed) });
      for (let i = 0; i < 50_000; i += 1)
        callers.countDecision(denied, 'enforce', `early ${i % 20}`);
      for (let i = 0; i < 10_000; i += 1) {
        callers.countDecision(denied, 'enforce', i % 25 < 9 ? 'late' : `once ${i}`);
      }
      const { callers: listed } = (callers.report()[0] as LimiterReport).rejected.minute;
      expect(listed.map(({ caller }) => caller)).toContain('late');
    },
  );

  it('a caller whose requests come at fixed distances is counted as often as others', () => {
    const callers = topCallers({ clock: new ManualClock(), random: fractions(3) });
    for (let i = 0; i < 640_000; i += 1) {
      callers.countDecision(denied, 'enforce', i % 64 === 63 ? 'steady' : `other ${i % 64}`);
    }
    const { callers: listed } = (callers.report()[0] as LimiterReport).rejected.minute;
    for (const { atLeast, atMost } of listed) {
      expect(atLeast).toBeLessThanOrEqual(10_000);
      expect(atMost).toBeGreaterThanOrEqual(10_000);
    }
  });
});

describe('in an attack with a million keys', () => {
  const clock = new ManualClock();
  const callers = topCallers({ clock, random: fractions(1) });
  const heavy = { rejections: 0 };
  // The caller with the most requests comes when all counters are in use, in the middle of each slice.
  for (let i = 0; i < 1_000_000; i += 1) {
    if (i % 50_000 === 0) clock.advance(SLICE_MS);
    callers.countDecision(denied, 'enforce', `attacker ${i}`);
    if (i % 50_000 > 25_000 && i % 20 === 0) {
      callers.countDecision(denied, 'enforce', 'heavy');
      heavy.rejections += 1;
    }
  }
  const { minute, quarter } = (callers.report()[0] as LimiterReport).rejected;

  it.each([
    // Of 20 slices.
    ['1 minute', minute, 6 / 20],
    ['15 minutes', quarter, 1],
  ])('the table of %s stays at its bound, with the heaviest first', (_, list, share) => {
    expect(list.callers).toHaveLength(20);
    const [first, second] = list.callers as [CallerCount, CallerCount];
    const rejections = heavy.rejections * share;
    expect(first.caller).toBe('heavy');
    expect(first.atLeast).toBeLessThanOrEqual(rejections);
    expect(first.atLeast).toBeGreaterThan(0.6 * rejections);
    expect(first.atMost).toBeGreaterThan(rejections);
    expect(first.atMost).toBeLessThan(2 * rejections);
    expect(second.atLeast).toBeLessThan(first.atLeast / 100);
    expect(list.total).toBe(1_000_000 * share + rejections);
  });

  it('400 callers are counted exactly', () => {
    const few = topCallers({ clock: new ManualClock() });
    for (let i = 0; i < 1_000; i += 1) few.countDecision(denied, 'enforce', `caller ${i % 400}`);
    const list = (few.report()[0] as LimiterReport).rejected.minute;
    expect(list.callers).toHaveLength(20);
    for (const { atLeast, atMost } of list.callers) expect([atLeast, atMost]).toEqual([3, 3]);
    expect(list.othersAtMost).toBe(3);
  });

  it('the 401st caller replaces all but the 100 with most rejections', () => {
    const full = topCallers({ clock: new ManualClock() });
    const reject = (caller: string, count: number): void => {
      for (let i = 0; i < count; i += 1) full.countDecision(denied, 'enforce', caller);
    };
    for (let i = 0; i < 400; i += 1) reject(`caller ${i}`, i < 299 ? 1 : i === 299 ? 2 : 3);
    reject('late', 10);
    // The largest count of a replaced caller is 2.
    const [first] = (full.report()[0] as LimiterReport).rejected.minute.callers;
    expect(first).toEqual({ caller: 'late', atLeast: 10, atMost: 12 });
  });

  it('every count is within its range, and a caller with 6 % of the rejections is listed', () => {
    const many = topCallers({ clock: new ManualClock() });
    const counts = new Map<string, number>();
    let seed = 1;
    for (let i = 0; i < 50_000; i += 1) {
      seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
      // First only rare callers, then a few frequent ones and thousands of rare ones.
      const rank = i < 5_000 ? i : Math.floor(1.2 ** ((50 * seed) / 2 ** 32));
      const caller = `caller ${rank}`;
      counts.set(caller, (counts.get(caller) ?? 0) + 1);
      many.countDecision(denied, 'enforce', caller);
    }
    expect(counts.size).toBeGreaterThan(3_000);
    const { callers: listed, othersAtMost } = (many.report()[0] as LimiterReport).rejected.minute;
    expect(listed.some(({ atLeast, atMost }) => atLeast < atMost)).toBe(true);
    for (const { caller, atLeast, atMost } of listed) {
      const count = counts.get(caller) as number;
      counts.delete(caller);
      expect(count).toBeGreaterThanOrEqual(atLeast);
      expect(count).toBeLessThanOrEqual(atMost);
    }
    for (const count of counts.values()) {
      expect(count).toBeLessThanOrEqual(othersAtMost);
      expect(count).toBeLessThan(0.06 * 50_000);
    }
  });

  it('keys that are pieces of long strings, such as headers, do not keep these in memory', () => {
    const sliced = topCallers({ clock: new ManualClock() });
    const before = heapBytes();
    for (let i = 0; i < 200; i += 1) {
      const header = Buffer.alloc(200_000, `token ${i} of a long header; `).toString('latin1');
      sliced.countDecision(denied, 'enforce', header.slice(0, 60));
    }
    expect(heapBytes() - before).toBeLessThan((200 * 200_000) / 5);
    expect((sliced.report()[0] as LimiterReport).rejected.minute.total).toBe(200);
  });

  it('a key of a kilobyte is cut', () => {
    callers.countDecision({ ...denied, limiter: 'long' }, 'enforce', 'x'.repeat(1_000));
    expect(callers.report()[1]?.rejected.minute.callers[0]?.caller).toHaveLength(256);
  });

  it('long keys that begin alike, as tokens of one issuer do, are not one caller', () => {
    const tokens = topCallers({ clock: new ManualClock() });
    for (let i = 10; i < 60; i += 1) {
      tokens.countDecision(denied, 'enforce', `${'x'.repeat(400)}.${i}`);
    }
    expect(tokens.report()[0]?.rejected.minute.callers[0]).toMatchObject({ atMost: 1 });
  });
});

describe('reports of several processes', () => {
  it('are added up by limiter, with bounds for callers that a full table may lack', () => {
    const reports = [0, 1].flatMap((process) => {
      const callers = topCallers({ clock: new ManualClock() });
      for (let i = 0; i < 10; i += 1) callers.countDecision(denied, 'enforce', 'ada');
      for (let i = 0; i < 300; i += 1) callers.countDecision(denied, 'enforce', `${process} ${i}`);
      callers.countDecision({ ...denied, limiter: `only ${process}` }, 'enforce', 'ada');
      const would = { ...denied, allowed: true, outcome: 'would-deny' } as const;
      callers.countDecision(would, 'shadow', 'bob');
      return callers.report();
    });
    const merged = mergeReports(reports);
    expect(merged.map(({ limiter }) => limiter)).toEqual(['api', 'only 0', 'only 1']);
    const { minute } = (merged[0] as LimiterReport).rejected;
    expect(minute.total).toBe(620);
    expect(minute.callers[0]).toEqual({ caller: 'ada', atLeast: 20, atMost: 20 });
    expect(minute.callers).toHaveLength(20);
    expect(minute.othersAtMost).toBeGreaterThan(0);
    expect(merged[0]?.counts.denied).toBe(620);
    expect(merged[0]?.wouldReject.quarter).toEqual({
      total: 2,
      callers: [{ caller: 'bob', atLeast: 2, atMost: 2 }],
      othersAtMost: 0,
    });
  });
});

describe('summaries', () => {
  const summarized = (options: TopCallersOptions = {}) => {
    const lines: CallerSummary[] = [];
    return { lines, ...watched({ write: (line) => void lines.push(line), ...options }) };
  };

  it('have the first five callers of an interval, and the rest as one number', () => {
    const { lines, clock, requests, callers } = summarized();
    for (let i = 1; i <= 7; i += 1) requests(`${i}`, 2 + i);
    clock.advance('7m');
    callers.report();
    expect(lines).toEqual([]);
    clock.advance('40s');
    callers.report();
    expect(lines).toMatchObject([{ limiter: 'two', outcome: 'denied', total: 28, rest: 3 }]);
    expect(lines[0]?.callers.map(({ atLeast }) => atLeast)).toEqual([7, 6, 5, 4, 3]);
    expect((lines[0]?.toMs ?? 0) - (lines[0]?.fromMs ?? 0)).toBe(460_000);
  });

  it('come first at a random moment, then once an interval, each with what is new', () => {
    const { lines, clock, requests } = summarized({ every: '10m', random: () => 0.2 });
    requests('ada', 2);
    const minutes: number[] = [];
    for (let minute = 1; minute <= 25; minute += 1) {
      requests('ada', 1);
      clock.advance('1m');
      requests('ada', 1);
      if (lines.length > minutes.length) minutes.push(minute);
    }
    expect(minutes).toEqual([2, 12, 22]);
    expect(lines.map(({ total }) => total)).toEqual([3, 20, 20]);
  });

  it('come last at shutdown, also for the slice that runs', async () => {
    const { lines, requests, callers } = summarized();
    requests('ada', 5);
    await callers.close();
    expect(lines).toMatchObject([{ total: 3 }]);
    await callers.close();
    expect(lines).toHaveLength(1);
  });

  it('show no key if there is a secret, and those who have it can reveal them', async () => {
    const { lines, requests, callers, report } = summarized({ secret: SECRET });
    requests('ada@example.org', 5);
    const shown = report();
    await callers.close();
    expect(JSON.stringify([lines, shown])).not.toContain('ada');
    const [{ caller = '' } = {}] = lines[0]?.callers ?? [];
    expect(caller).toBe(shown.rejected.quarter.callers[0]?.caller);
    expect(new CallerSeal(SECRET).reveal(caller)).toBe('ada@example.org');
    expect(new CallerSeal(`${SECRET} `).reveal(caller)).toBeUndefined();
  });

  it('say what a limiter in shadow mode would reject, and show no key either', async () => {
    const lines: CallerSummary[] = [];
    const shadow = rateLimit({ ...two, mode: 'shadow', key: ({ path }) => path });
    const write = (line: CallerSummary): void => void lines.push(line);
    const { requests, callers, report } = watched({ write, secret: SECRET }, [shadow]);
    requests('ada@example.org', 5);
    const shown = report();
    await callers.close();
    expect(lines).toMatchObject([{ outcome: 'would-deny', total: 3, callers: [{ atLeast: 3 }] }]);
    expect(shown.wouldReject.quarter.callers).toEqual(lines[0]?.callers);
    expect(JSON.stringify([lines, shown])).not.toContain('ada');
  });
});

it.each(['', 'ada', 'ü'.repeat(256), '@203.0.113.7', '["a","b"]'])(
  'seals and reveals %j',
  (key) => {
    const seal = new CallerSeal(SECRET);
    expect(seal.reveal(seal.seal(key))).toBe(key);
    expect(seal.seal(key)).toMatch(/^#[\w-]+$/);
    expect(seal.reveal(key)).toBeUndefined();
  },
);

it('seals as every release does: tables of old and new processes are added up', () => {
  const sealed =
    '#X4UhB3qYTpZ-aKSf-Cvk-i10XC2qZ7-Gn0Y4qdte5vkAQzfGmhQmOMmNlCE9JzVyJUGGwHHcBmMJ9JDuZPWj5g';
  const key = '@2001:db8:123:4567::/64 and much longer than a block';
  expect(new CallerSeal(SECRET).seal(key)).toBe(sealed);
});

it('seals and reveals long keys, without repeating the stream that encrypts them', () => {
  const seal = new CallerSeal(SECRET);
  const key = 'x'.repeat(20_000);
  expect(seal.reveal(seal.seal(key))).toBe(key);
  const bytes = Buffer.from(seal.seal(key).slice(1), 'base64url').subarray(12);
  expect(bytes.subarray(0, 32)).not.toEqual(bytes.subarray(8_192, 8_224));
  expect(seal.reveal(`#${'A'.repeat(200_000)}`)).toBeUndefined();
});

describe('a process that publishes', () => {
  function published(options: TopCallersOptions = {}) {
    const calls: (readonly LimiterReport[])[] = [];
    const sink: ReportSink = { publish: async (limiters) => void calls.push(limiters) };
    const clock = new ManualClock();
    const callers = topCallers({ clock, publishTo: sink, ...options });
    const decide = (limiter: string) =>
      callers.countDecision({ ...denied, limiter }, 'enforce', 'ada');
    /** A second later, the next decision makes the call that is due. */
    const second = async (limiter = 'api') => {
      clock.advance('1s');
      decide(limiter);
      await Promise.resolve();
      await Promise.resolve();
    };
    return { calls, callers, clock, decide, second };
  }

  it('makes at most one call a second, with what has changed', async () => {
    const { calls, decide, second } = published();
    for (let i = 0; i < 100; i += 1) decide('api');
    await second('other');
    for (let i = 0; i < 100; i += 1) decide('api');
    await second();
    const names = calls.map((call) => call.map(({ limiter }) => limiter));
    expect(names).toEqual([['api'], ['other', 'api']]);
  });

  it('sends a limiter that rests twice, to show its rate, and again when its lists become empty', async () => {
    const { calls, clock, decide, second } = published();
    const sent = () => calls.flat().filter(({ limiter }) => limiter === 'api');
    const totals = () => {
      const { rejected } = sent().at(-1) as LimiterReport;
      return [rejected.minute.total, rejected.quarter.total];
    };
    decide('api');
    for (let i = 0; i < 5; i += 1) await second('other');
    expect(sent()).toHaveLength(2);
    expect(totals()).toEqual([1, 1]);
    clock.advance('1m');
    await second('other');
    expect(totals()).toEqual([0, 1]);
    clock.advance('15m');
    await second('other');
    expect(totals()).toEqual([0, 0]);
  });

  it('sends 40 limiters in a call, and all of 200 within 5 seconds', async () => {
    const { calls, decide, second } = published();
    for (let i = 0; i < 200; i += 1) decide(`of ${i}`);
    for (let i = 0; i < 6; i += 1) await second('of 0');
    expect(Math.max(...calls.map(({ length }) => length))).toBe(40);
    expect(new Set(calls.flat().map(({ limiter }) => limiter)).size).toBe(200);
  });

  it('sends the rest at shutdown', async () => {
    const { calls, callers, decide } = published();
    for (let i = 0; i < 100; i += 1) decide(`of ${i}`);
    await callers.close();
    expect(calls.flat()).toHaveLength(100);
  });

  it('goes on if a call is never answered', async () => {
    let calls = 0;
    const publish = () => (calls++ === 0 ? new Promise<never>(() => {}) : Promise.resolve());
    const { second } = published({ publishTo: { publish } });
    for (let i = 0; i < 10; i += 1) await second();
    expect(calls).toBeGreaterThan(1);
  });

  it('sends again what could not be sent', async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined);
    onTestFinished(() => warn.mockRestore());
    let isDown = true;
    const seen: string[] = [];
    const publish = async (limiters: readonly LimiterReport[]) => {
      if (isDown) throw new Error('Redis is down');
      seen.push(...limiters.map(({ limiter }) => limiter));
    };
    const { callers, decide, second } = published({ publishTo: { publish } });
    decide('early');
    await second('early');
    for (let i = 0; i < 3; i += 1) await second('later');
    isDown = false;
    await second('api');
    expect(new Set(seen)).toEqual(new Set(['early', 'later']));
    await callers.close();
    expect(new Set(seen)).toEqual(new Set(['api', 'early', 'later']));
    expect(warn).toHaveBeenCalledExactlyOnceWith(expect.stringContaining('Redis is down'));
  });

  it.each([
    ['rejects', () => Promise.reject(new Error('Redis is down'))],
    ['never answers', () => new Promise<never>(() => {})],
  ])('ends within 5 s if the sink %s', async (_, publish) => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined);
    onTestFinished(() => warn.mockRestore());
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const { callers, second } = published({ publishTo: { publish } });
    await second();
    await second();
    const ends = [callers.close(), callers.close()];
    await vi.advanceTimersByTimeAsync(5_000);
    await Promise.all(ends);
  });
});

it.each([
  [{ every: '30s' }, 'every'],
  [{ secret: 'short' }, 'secret'],
  [{ publishTo: {} }, 'publishTo'],
  [{ write: 'log' }, 'write'],
  [{ clock: {} }, 'clock'],
  [{ unknown: 1 }, 'unknown'],
])('rejects %j', (options, name) => {
  expect(() => topCallers(options as never)).toThrow(name);
});

it.each([
  [
    'throws',
    () => {
      throw new Error('disk full');
    },
  ],
  ['rejects', () => Promise.reject(new Error('disk full'))],
])('a logger that %s fails no request', (_, write) => {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined);
  onTestFinished(() => warn.mockRestore());
  const { clock, requests, report } = watched({ write });
  requests('ada', 5);
  clock.advance('8m');
  requests('ada', 1);
  expect(report().counts).toMatchObject({ allowed: 2, denied: 4 });
});
