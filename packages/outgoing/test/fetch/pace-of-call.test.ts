/** Calls with their own priority, cost or credential, and shapers that limit only how many calls run at once. */

import { createShaper, hostAndCredential, type PauseEvent, pacedFetch } from '@spillway/outgoing';
import { fakeTime } from 'spillway-testkit';
import { describe, expect, it } from 'vitest';
import { pass } from '../shaper/set-up.js';

fakeTime();

const URL_A = 'https://a.example/messages';
const quiet = { random: () => 0, logger: false } as const;
const ok = () => new Response(null);
const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** A partner whose answers the test decides; records the paths and times of calls. */
function partner(answer: (path: string) => Response | Promise<Response> = ok) {
  const beginMs = Date.now();
  const calls: string[] = [];
  const inits: object[] = [];
  const fetch = async (input: unknown, init: object = {}) => {
    const { pathname } = new URL(String(input));
    calls.push(`${pathname} ${Date.now() - beginMs}`);
    inits.push(init);
    return answer(pathname);
  };
  return { calls, inits, fetch: fetch as typeof globalThis.fetch };
}

describe('pace in init', () => {
  it('gives a call a priority', async () => {
    const { calls, fetch, inits } = partner();
    const send = pacedFetch(createShaper({ limit: 4, window: '1s' }, quiet), { fetch });
    for (const path of ['first', 'usual']) void send(`https://a.example/${path}`);
    void send('https://a.example/urgent', { method: 'PUT', pace: { priority: 1 } });
    await pass(1_000);
    expect(calls).toEqual(['/first 0', '/urgent 250', '/usual 500']);
    expect(inits[1]).toMatchObject({ method: 'PUT' });
    expect(inits.every((init) => !('pace' in init))).toBe(true);
  });

  it('gives it a cost in each pace', async () => {
    const { calls, fetch } = partner();
    const paces = {
      requests: { limit: 10, window: '1s' },
      tokens: { limit: 1_000, window: '1s', burst: 500 },
    } as const;
    const send = pacedFetch(createShaper({ paces }, quiet), { fetch });
    for (const tokens of [500, 400, 1]) void send(URL_A, { pace: { cost: { tokens } } });
    await pass(1_000);
    expect(calls).toEqual(['/messages 0', '/messages 400', '/messages 500']);
    // @ts-expect-error: a pace that the shaper does not have
    await expect(send(URL_A, { pace: { cost: { words: 1 } } })).rejects.toThrow(/cost has no/);
  });

  it('keeps both through redirects', async () => {
    const moved = new Response(null, { status: 307, headers: { location: '/new' } });
    const { calls, fetch } = partner((path) => (path === '/old' ? moved : ok()));
    const send = pacedFetch(createShaper({ limit: 4, window: '1s' }, quiet), { fetch });
    void send('https://a.example/old', { pace: { priority: 1 } });
    for (const path of ['one', 'two']) void send(`https://a.example/${path}`);
    await pass(1_000);
    expect(calls.map((call) => call.split(' ')[0])).toEqual(['/old', '/new', '/one', '/two']);
  });

  it('rejects what is no priority', async () => {
    const { fetch } = partner();
    const send = pacedFetch(createShaper({ limit: 4, window: '1s' }, quiet), { fetch });
    await expect(send(URL_A, { pace: { priority: Number.NaN } })).rejects.toThrow(/priority must/);
    await expect(send(URL_A, { pace: { prio: 1 } as never })).rejects.toThrow(/OPTION_UNKNOWN/);
  });
});

describe('hostAndCredential', () => {
  it('gives each credential of a host its own pace, and shows none', async () => {
    const keyOf = (headers: Record<string, string>) =>
      hostAndCredential(new Request(URL_A, { headers }));
    const ada = keyOf({ authorization: 'Bearer secret-of-ada' });
    expect(ada).toMatch(/^a\.example#[0-9a-f]{16}$/);
    expect(keyOf({ authorization: 'Bearer secret-of-ada' })).toBe(ada);
    expect(keyOf({ authorization: 'Bearer secret-of-bob' })).not.toBe(ada);
    expect(keyOf({ 'x-api-key': 'Bearer secret-of-ada' })).not.toBe(ada);
    expect(keyOf({})).toBe('a.example');
    const { calls, fetch } = partner();
    const shaper = createShaper({ limit: 1, window: '1s' }, quiet);
    const send = pacedFetch(shaper, { fetch, key: hostAndCredential });
    for (const authorization of ['a', 'b', 'a']) void send(URL_A, { headers: { authorization } });
    await pass(1_000);
    expect(calls).toEqual(['/messages 0', '/messages 0', '/messages 1000']);
  });
});

describe('a 403', () => {
  it('with Retry-After pauses the key and is retried, without it is an answer like others', async () => {
    const answers = [
      new Response(null, { status: 403, headers: { 'retry-after': '2' } }),
      new Response(null, { status: 403 }),
    ];
    const { calls, fetch } = partner(() => answers.shift() ?? ok());
    const events: PauseEvent[] = [];
    const shaper = createShaper({ limit: 10, window: '1s' }, quiet);
    const send = pacedFetch(shaper, {
      fetch,
      retries: 1,
      random: () => 0,
      onPause: (event) => void events.push(event),
    });
    const result = send(URL_A);
    await pass(0);
    expect((await shaper.stats('a.example')).pausedBy).toBe('response 403 (retry-after)');
    await pass(2_000);
    expect((await result).status).toBe(403);
    expect(calls).toEqual(['/messages 0', '/messages 2000']);
    expect(events).toEqual([
      { key: 'a.example', pauseMs: 2_000, status: 403, cause: 'retry-after' },
    ]);
  });
});

describe('the plan of a key', () => {
  it.each([
    ['slower', { limit: 1, window: '1s' }, { window: '10s' }, 10_000],
    ['faster', { limit: 1, window: '10s' }, { limit: 100 }, 100],
  ] as const)('that is %s sets the shortest pause', async (_, pace, plan, pauseMs) => {
    const { fetch } = partner(
      () => new Response(null, { status: 429, headers: { 'retry-after': '0' } }),
    );
    const events: PauseEvent[] = [];
    const shaper = createShaper({ ...pace, plan: () => plan }, quiet);
    const onPause = (event: PauseEvent) => void events.push(event);
    await pacedFetch(shaper, { fetch, random: () => 0, onPause })(URL_A);
    expect(events).toMatchObject([{ pauseMs }]);
  });

  it('says how many calls may be in flight', async () => {
    const headers = { ratelimit: '"a";r=2;t=10' };
    const { calls, fetch } = partner(() => new Response(null, { headers }));
    const shaper = createShaper({ maxConcurrent: 1, plan: () => ({ maxConcurrent: 5 }) }, quiet);
    const send = pacedFetch(shaper, { fetch, random: () => 0 });
    for (let i = 0; i < 9; i += 1) void send(URL_A);
    await pass(100);
    expect(calls.length).toBeLessThan(9);
  });
});

describe('a shaper with only maxConcurrent', () => {
  it('lets so many calls be in flight, and cools down after a rejection', async () => {
    let count = 0;
    const { calls, fetch } = partner(async () => {
      count += 1;
      const isRejected = count === 3;
      await sleep(100);
      return isRejected
        ? new Response(null, { status: 429, headers: { 'retry-after': '3' } })
        : ok();
    });
    const shaper = createShaper({ maxConcurrent: 2 }, quiet);
    const send = pacedFetch(shaper, { fetch, random: () => 0 });
    for (let i = 0; i < 6; i += 1) void send(URL_A);
    await pass(5_000);
    const times = calls.map((call) => Number(call.split(' ')[1]));
    expect(times.slice(0, 4)).toEqual([0, 0, 100, 100]);
    expect(times[4]).toBeGreaterThanOrEqual(3_200);
    expect(calls).toHaveLength(6);
  });

  it('does not take a quota for spent that is enough for the calls in flight', async () => {
    const headers = { ratelimit: '"a";r=5;t=10' };
    const { calls, fetch } = partner(() => new Response(null, { headers }));
    const send = pacedFetch(createShaper({ maxConcurrent: 2 }, quiet), { fetch });
    for (let i = 0; i < 6; i += 1) void send(URL_A);
    await pass(100);
    expect(calls).toHaveLength(6);
  });
});
