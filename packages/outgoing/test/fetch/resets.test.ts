/** A key that an operator has reset is no longer paused, for calls of the process that paused it too. */

import { remoteStore } from '@spillway/core/store';
import { createShaper, type PacedFetchOptions, pacedFetch } from '@spillway/outgoing';
import { fakeTime } from 'spillway-testkit';
import { expect, it } from 'vitest';
import { FarStore, pass, resetKey } from '../shaper/set-up.js';

fakeTime();

const HOST = 'a.example';

function setUp(answers: (readonly [number, string])[], options: PacedFetchOptions = {}) {
  const store = remoteStore(new FarStore());
  const settings = { store, localShare: 1, random: () => 0, logger: false } as const;
  const pace = { name: 'partner', limit: 100, window: '1s', maxWait: '5m' } as const;
  const shaper = createShaper(pace, settings);
  const pauses: string[] = [];
  let calls = 0;
  const fetch = async () => {
    const [status, retryAfter] = answers[calls] ?? [200, ''];
    calls += 1;
    return new Response(null, { status, headers: { 'retry-after': retryAfter } });
  };
  const onPause = ({ key, pauseMs }: { key: string; pauseMs: number }) =>
    void pauses.push(`${key} ${pauseMs}`);
  const send = pacedFetch(shaper, { fetch, random: () => 0, onPause, ...options });
  const statusOf = async () => (await send(`https://${HOST}/`)).status;
  const reset = (key: string) => resetKey(store, 'partner', key);
  return { shaper, pauses, statusOf, reset };
}

it('a shorter pause counts after the reset of a longer one', async () => {
  const { shaper, pauses, statusOf, reset } = setUp([
    [429, '60'],
    [429, '30'],
  ]);
  expect(await statusOf()).toBe(429);
  await reset(HOST);
  await pass(100);
  expect(await statusOf()).toBe(429);
  expect(pauses).toEqual([`${HOST} 60000`, `${HOST} 30000`]);
  expect(await shaper.pauseOf(HOST)).toBe(30_000);
});

it.each([
  ['counts, although its call began before the reset', true, ['60000', '30000']],
  ['changes nothing without a reset', false, ['60000']],
] as const)('a shorter pause that comes after a longer one %s', async (_, isReset, expected) => {
  const answers = [
    ['60', 50],
    ['30', 200],
  ] as const;
  let calls = 0;
  const fetch = async (): Promise<Response> => {
    const [retryAfter, ms] = answers[calls] ?? ['1', 0];
    calls += 1;
    await new Promise((done) => setTimeout(done, ms));
    return new Response(null, { status: 429, headers: { 'retry-after': retryAfter } });
  };
  const { shaper, pauses, statusOf, reset } = setUp([], { fetch });
  const both = [statusOf(), statusOf()];
  await pass(100);
  if (isReset) await reset(HOST);
  await pass(200);
  expect(await Promise.all(both)).toEqual([429, 429]);
  expect(pauses).toEqual(expected.map((ms) => `${HOST} ${ms}`));
  expect(await shaper.pauseOf(HOST)).toBe(isReset ? 30_000 - 90 : 60_000 - 250);
});

it('a host that is reset pauses its other keys no longer', async () => {
  const { shaper, pauses, statusOf, reset } = setUp(
    [
      [503, '60'],
      [503, '30'],
    ],
    { key: () => 'ada' },
  );
  expect(await statusOf()).toBe(503);
  await reset(HOST);
  await pass(100);
  const second = statusOf();
  await pass(100);
  expect(await second).toBe(503);
  expect(pauses).toEqual([`${HOST} 60000`, `${HOST} 30000`]);
  expect(await shaper.pauseOf(HOST)).toBe(30_000 - 100);
});
