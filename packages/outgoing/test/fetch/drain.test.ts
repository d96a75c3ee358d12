/** A shaper that drains lets calls finish that it has accepted, with all the slots that they need. */

import { remoteStore } from '@spillway/core/store';
import { createShaper, type PacedFetchOptions, pacedFetch } from '@spillway/outgoing';
import { fakeTime } from 'spillway-testkit';
import { expect, it } from 'vitest';
import { FarStore, pass } from '../shaper/set-up.js';

fakeTime();

const FIRST = 'https://a.example/first';
const TO_NEXT = new Response(null, { status: 302, headers: { location: '/next' } });
const REJECTED = new Response(null, { status: 429, headers: { 'retry-after': '3' } });

/** A call takes 100 ms. Later calls than those with `answers` get a 200. */
function setUp(answers: readonly Response[], options: PacedFetchOptions = {}) {
  const pace = {
    name: 'partner',
    limit: 1,
    window: '1s',
    maxWait: '1m',
    maxConcurrent: 1,
  } as const;
  const settings = { store: remoteStore(new FarStore()), localShare: 1, random: () => 0 } as const;
  const shaper = createShaper(pace, settings);
  const asked: string[] = [];
  const fetch = async (input: unknown): Promise<Response> => {
    const answer = answers[asked.length] ?? new Response(null);
    asked.push(String(input));
    await new Promise((done) => setTimeout(done, 100));
    return answer;
  };
  const send = pacedFetch(shaper, { fetch: fetch as never, random: () => 0, ...options });
  const statusOf = (url: string): Promise<unknown> =>
    send(url).then(
      ({ status }) => status,
      (error: { code?: unknown }) => error.code,
    );
  return { shaper, asked, statusOf };
}

it('a redirect is followed, and calls that come later are rejected', async () => {
  const { shaper, asked, statusOf } = setUp([TO_NEXT.clone()]);
  const accepted = statusOf(FIRST);
  await pass(50);
  const draining = shaper.drain('10s');
  const late = statusOf(FIRST);
  await pass(1_500);
  expect(await accepted).toBe(200);
  expect(await late).toBe('SPW_SHAPER_CLOSED');
  expect(await draining).toEqual({ rejected: 0, running: 0 });
  expect(asked).toEqual([FIRST, 'https://a.example/next']);
});

it('a redirect whose slot does not come in time is rejected', async () => {
  const { shaper, asked, statusOf } = setUp([TO_NEXT.clone()]);
  const accepted = statusOf(FIRST);
  await pass(50);
  const draining = shaper.drain('500ms');
  await pass(600);
  expect(await draining).toEqual({ rejected: 1, running: 0 });
  expect(await accepted).toBe('SPW_SHAPER_CLOSED');
  expect(asked).toEqual([FIRST]);
});

it('a retry waits for its pause, at most as long as drain does', async () => {
  for (const [timeout, status] of [
    ['10s', 200],
    ['2s', 429],
  ] as const) {
    const { shaper, statusOf } = setUp([REJECTED.clone()], { retries: 1 });
    const accepted = statusOf(FIRST);
    await pass(50);
    const draining = shaper.drain(timeout);
    await pass(10_000);
    expect(await accepted).toBe(status);
    await draining;
  }
});

it('a call that waits for the pause of its host starts after it', async () => {
  const { shaper, asked, statusOf } = setUp([], { key: () => 'ada' });
  await shaper.pause('a.example', '3s');
  await shaper.schedule('ada', () => 'takes the slot that comes before the call');
  const accepted = statusOf(FIRST);
  await pass(50);
  const draining = shaper.drain('10s');
  await pass(2_900);
  expect(asked).toEqual([]);
  await pass(3_000);
  expect(await accepted).toBe(200);
  expect(await draining).toEqual({ rejected: 0, running: 0 });
});

it('close rejects what it would still need', async () => {
  const { shaper, asked, statusOf } = setUp([TO_NEXT.clone()]);
  const accepted = statusOf(FIRST);
  await pass(50);
  const closing = shaper.close();
  await pass(2_000);
  expect(await accepted).toBe('SPW_SHAPER_CLOSED');
  await closing;
  expect(asked).toEqual([FIRST]);
});
