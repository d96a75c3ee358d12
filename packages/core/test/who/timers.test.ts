/** A process publishes and summarizes by a timer, even if no further request comes. */

import { createGuard, rateLimit } from '@spillway/core';
import { type CallerSummary, type LimiterReport, topCallers } from '@spillway/core/who';
import { fakeTime, request } from 'spillway-testkit';
import { expect, it, vi } from 'vitest';

fakeTime();

function watched() {
  const calls: (readonly LimiterReport[])[] = [];
  const lines: CallerSummary[] = [];
  const callers = topCallers({
    publishTo: { publish: async (limiters) => void calls.push(limiters) },
    write: (line) => void lines.push(line),
    random: () => 1 / 15,
  });
  const guard = createGuard(rateLimit({ name: 'api', limit: 1, window: '1h' }), {
    observers: [callers],
    logger: false,
  });
  for (let i = 0; i < 4; i += 1) void guard.admit(request());
  return { callers, calls, lines };
}

it('publishes within a second, then when a window moves, else every ten seconds', async () => {
  const { calls } = watched();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(calls).toMatchObject([[{ limiter: 'api', rejected: { minute: { total: 3 } } }]]);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(calls.length).toBeLessThanOrEqual(14);
  expect(calls.at(-1)).toMatchObject([
    { rejected: { minute: { total: 0 }, quarter: { total: 3 } } },
  ]);
  await vi.advanceTimersByTimeAsync(15 * 60_000);
  const before = calls.length;
  await vi.advanceTimersByTimeAsync(60_000);
  expect(calls.slice(before)).toEqual([[], [], [], [], [], []]);
});

it('writes the first summary when it is due', async () => {
  const { lines } = watched();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(lines).toEqual([]);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(lines).toMatchObject([
    { limiter: 'api', total: 3, callers: [{ caller: '@203.0.113.7' }] },
  ]);
});

it('stops when it is closed', async () => {
  const { callers, calls } = watched();
  await callers.close();
  expect(calls).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(calls).toHaveLength(1);
  expect(vi.getTimerCount()).toBe(0);
});
