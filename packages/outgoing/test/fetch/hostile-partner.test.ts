/** What a partner, or anything on the way to it, can do to its callers. */

import type { Fault } from '@spillway/core';
import { createShaper, pacedFetch } from '@spillway/outgoing';
import { describe, expect, it } from 'vitest';
import { PERIOD_MS, setUp, URL_A, within } from './paced-fetch-set-up.js';

// Node's `Headers` keep white space at the end of a field that came over the network, as these fields have.
describe('white space at the end of a field is no part of it (RFC 9110, 5.5; RFC 9651, 4.2)', () => {
  it.each([
    ['retry-after', '7 ', 429, 7000],
    ['retry-after', '7\t', 429, 7000],
    ['retry-after-ms', '700 ', 429, 700],
    ['ratelimit', '"a";r=0;t=9 ', 200, 9000],
    ['ratelimit-remaining', '0 ', 200, 9000],
  ])('%s: %j', async (name, value, status, pauseMs) => {
    const fields: Record<string, string> = { 'ratelimit-reset': '9', [name]: value };
    if (name !== 'ratelimit-remaining') delete fields['ratelimit-reset'];
    const headers = { get: (field: string) => fields[field] ?? null };
    const fetch = async () => ({ status, headers }) as unknown as Response;
    const { time, send, pauses } = setUp([], { fetch });
    await within(time, 0, send(URL_A));
    expect(pauses()).toEqual([`a.example: ${pauseMs}`]);
  });
});

it('an async onPause that rejects ends no process: it is a fault', async () => {
  const faults: Fault[] = [];
  const heard: unknown[] = [];
  // A promise that records who listens: a rejected one that nobody listens to would end this process.
  const rejects = {
    // biome-ignore lint/suspicious/noThenProperty: it stands for a promise
    then(_: unknown, onRejected?: (error: unknown) => void) {
      heard.push(onRejected);
      onRejected?.(new Error('mine'));
    },
  };
  const { time, send } = setUp([[429]], {
    onPause: () => rejects as unknown as undefined,
    onFault: (fault) => void faults.push(fault),
  });
  await within(time, 0, send(URL_A));
  await within(time, 0, Promise.resolve());
  expect(heard).toEqual([expect.any(Function)]);
  expect(faults).toEqual([{ limiter: 'fake', source: 'observer', error: new Error('mine') }]);
});

it('a 429 pauses a shaper whose period is longer than a pause can be, as long as one can', async () => {
  const faults: Fault[] = [];
  const shaper = createShaper({ name: 'month', limit: 10, window: '30d', maxWait: '30d' });
  const send = pacedFetch(shaper, {
    fetch: async () => new Response(null, { status: 429 }),
    onFault: (fault) => void faults.push(fault),
  });
  await send(URL_A);
  expect(faults).toEqual([]);
  await shaper.close();
});

it('calls that wait for the host itself do not hold up those with a key of their own', async () => {
  const { time, send, shaper } = setUp([], {
    key: (request) => request.headers.get('x-account') ?? undefined,
  });
  const others = Array.from({ length: 30 }, () => send(URL_A));
  await time.run(0);
  const own = send(URL_A, { headers: { 'x-account': 'ada' } });
  await time.run(30 * PERIOD_MS);
  await Promise.all([...others, own]);
  const beganMs = shaper.starts[0]?.atMs ?? 0;
  const startMs = shaper.starts.filter(({ key }) => key === 'ada').map((one) => one.atMs - beganMs);
  // The call's own key has a free slot, and nobody has paused the host.
  expect(shaper.pauses).toEqual([]);
  expect(startMs).toEqual([0]);
});
