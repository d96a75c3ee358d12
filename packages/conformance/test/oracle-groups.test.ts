/** The oracle's groups, clamps and refunds, in examples that were calculated by hand. */

import { makeRule } from '@spillway/core/store';
import { describe, expect, it } from 'vitest';
import { Oracle, type Subject } from '../src/index.js';
import { step } from '../src/probe.js';

const SECOND = 1_000_000;
const bucket: Subject = { limiter: 'bucket', key: 'a', rule: makeRule('token-bucket', 2, SECOND) };
const fixed: Subject = { limiter: 'fixed', key: 'a', rule: makeRule('fixed-window', 2, SECOND) };
const sliding: Subject = {
  limiter: 'sliding',
  key: 'a',
  rule: makeRule('sliding-window-counter', 2, SECOND),
};
const log: Subject = { limiter: 'log', key: 'a', rule: makeRule('sliding-window-log', 2, SECOND) };

describe('a group', () => {
  it('charges nothing if a binding step is refused, and a shadow step never refuses', () => {
    const oracle = new Oracle();
    oracle.apply([step('take', log, 2)], 0);
    const refused = oracle.apply([step('take', bucket), step('take', log)], 0);
    expect(refused).toMatchObject([
      { allowed: true, charged: false, remaining: 2, retryAfterMs: 0 },
      { allowed: false, charged: false, remaining: 0, retryAfterMs: 1000 },
    ]);
    const shadow = step('take', log, 1, { binding: false });
    expect(oracle.apply([step('take', bucket), shadow], 0)).toMatchObject([
      { allowed: true, charged: true, remaining: 1 },
      { allowed: false, charged: false },
    ]);
  });

  it('does not charge a shadow step that passes if the group is refused', () => {
    const oracle = new Oracle();
    const shadow = step('take', bucket, 1, { binding: false });
    const [verdict] = oracle.apply([shadow, step('take', fixed, 3)], 0);
    expect(verdict).toMatchObject({ allowed: true, charged: false, remaining: 2 });
  });

  it('sums takes of one key', () => {
    const oracle = new Oracle();
    const twice = [step('take', sliding, 1), step('take', sliding, 2)];
    expect(oracle.apply(twice, 0).map(({ charged }) => charged)).toEqual([false, false]);
    const once = [step('take', sliding, 1), step('take', sliding, 1)];
    expect(oracle.apply(once, 0).map(({ charged }) => charged)).toEqual([true, true]);
  });
});

describe('a clock that runs back', () => {
  const far = 1_000 * SECOND;

  it.each([
    [bucket, { remaining: 0, retryAfterMs: 500, resetMs: 1000 }],
    [fixed, { remaining: 0, retryAfterMs: 1000, resetMs: 1000 }],
    [sliding, { remaining: 0, retryAfterMs: 1500, resetMs: 2000 }],
    [log, { remaining: 0, retryAfterMs: 1000, resetMs: 1000 }],
  ])('by far leaves $limiter a debt that its rule can have', (subject, numbers) => {
    const oracle = new Oracle();
    oracle.apply([step('take', subject, 2)], far);
    expect(oracle.apply([step('take', subject)], SECOND)).toMatchObject([
      { allowed: false, ...numbers },
    ]);
  });

  it('cuts on a refusal, not on a look', () => {
    const oracle = new Oracle();
    oracle.apply([step('take', bucket, 2)], far);
    oracle.apply([step('look', bucket)], SECOND);
    oracle.apply([step('take', bucket, 0)], SECOND);
    expect(oracle.apply([step('look', bucket)], far)).toMatchObject([{ remaining: 0 }]);
    oracle.apply([step('take', bucket)], SECOND);
    expect(oracle.apply([step('look', bucket)], far)).toMatchObject([{ remaining: 2 }]);
  });

  it('cuts on a take that only another step of its group refuses', () => {
    const oracle = new Oracle();
    const long = { ...bucket, rule: makeRule('token-bucket', 2, 10 * SECOND, 4) };
    oracle.apply([step('take', long, 2)], far);
    const group = [step('take', long, 0), step('take', fixed, 3)];
    oracle.apply(group, SECOND);
    expect(oracle.apply([step('look', long)], far)).toMatchObject([{ remaining: 2 }]);
    oracle.apply([step('take', long, 1), step('take', fixed, 3)], SECOND);
    expect(oracle.apply([step('look', long)], far)).toMatchObject([{ remaining: 4 }]);
  });

  it('by a microsecond counts as the start of a window', () => {
    const oracle = new Oracle();
    oracle.apply([step('take', sliding, 1)], 0.5 * SECOND);
    oracle.apply([step('take', sliding, 1)], SECOND);
    expect(oracle.apply([step('look', sliding)], SECOND - 1)).toMatchObject([
      { remaining: 0, retryAfterMs: 1000.001, resetMs: 2000.001 },
    ]);
  });
});

describe('a put', () => {
  it('into a bucket gives back no more than has not refilled', () => {
    const oracle = new Oracle();
    oracle.apply([step('take', bucket, 2)], 0);
    const put = step('put', bucket, 2, { receipt: { atUs: SECOND, num: 0, units: 1e9 } });
    oracle.apply([step('take', bucket, 1)], 0.75 * SECOND); // 1.5 refilled, 0.5 left: TAT 1.5 s
    expect(oracle.apply([put], 0.75 * SECOND)).toMatchObject([
      { allowed: true, remaining: 1, resetMs: 500 },
    ]);
    expect(oracle.apply([put], SECOND)).toMatchObject([{ allowed: false }]);
  });

  it('into another window gives back nothing', () => {
    const oracle = new Oracle();
    oracle.apply([step('take', fixed, 2)], 0);
    oracle.apply([step('take', fixed, 2)], SECOND);
    const put = step('put', fixed, 2, { receipt: { atUs: 0, num: 0, units: 1e9 } });
    expect(oracle.apply([put], SECOND)).toMatchObject([{ allowed: false, remaining: 0 }]);
  });

  it('into a log removes the entry of that time and cost', () => {
    const oracle = new Oracle();
    oracle.apply([step('take', log, 1)], 10);
    oracle.apply([step('take', log, 1)], 20);
    const put = step('put', log, 1, { receipt: { atUs: 10, num: 0, units: 1e9 } });
    expect(oracle.apply([put], 30)).toMatchObject([{ allowed: true, resetMs: 999.99 }]);
    expect(oracle.apply([put], 30)).toMatchObject([{ allowed: false, remaining: 1 }]);
  });
});

describe('a record', () => {
  it('splits the oldest entry of a log that overflows', () => {
    const rule = makeRule('sliding-window-log', 5, SECOND);
    const subject = { ...log, rule };
    const oracle = new Oracle();
    oracle.apply([step('take', subject, 4)], 10);
    const [verdict] = oracle.apply([step('record', subject, 3)], 20);
    expect(verdict).toMatchObject({ allowed: false, remaining: 0 });
    const [look] = oracle.apply([step('look', subject, 2)], 20);
    expect(look?.retryAfterMs).toBe(999.99); // two of the four are left at 10
  });
});
