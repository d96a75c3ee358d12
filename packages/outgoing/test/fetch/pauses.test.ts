/** Answers of the other side pause a key or a host for all processes: never longer than allowed, never for nothing. */

import { describe, expect, it } from 'vitest';
import { type Answer, PERIOD_MS, setUp, URL_A, within } from './paced-fetch-set-up.js';

/** The pauses after one call that gets this answer. */
async function pausesAfter(answer: Answer, options = {}): Promise<string[]> {
  const { time, send, pauses } = setUp([answer], options);
  await within(time, 0, send(URL_A));
  return pauses();
}

const at = (ms: number): string => new Date(Date.UTC(2026, 0, 1) + ms).toUTCString();

describe('a refusal', () => {
  it.each<[string, Answer, string[]]>([
    ['seconds', [429, { 'retry-after': '3' }], ['a.example: 3000']],
    ['a date', [429, { 'retry-after': at(4000) }], ['a.example: 4000']],
    ['milliseconds', [429, { 'retry-after-ms': '250' }], ['a.example: 250']],
    [
      'the fields of its quota',
      [429, { ratelimit: '"a";r=0;t=7, "b";r=5;t=60' }],
      ['a.example: 7000'],
    ],
    [
      'Retry-After before them',
      [429, { ratelimit: '"a";r=0;t=7', 'retry-after': '9' }],
      ['a.example: 9000'],
    ],
    ['nothing', [429], ['a.example: 1000']],
    ['what cannot be read', [429, { 'retry-after': '5, 10' }], ['a.example: 1000']],
    ['a 503', [503, { 'retry-after': '3' }], ['a.example: 3000']],
    ['a 503 that tells of a quota', [503, { ratelimit: '"a";r=0;t=7' }], ['a.example: 1000']],
    ['0: at least a period', [429, { 'retry-after': '0' }], [`a.example: ${PERIOD_MS}`]],
    ['a day: at most a minute', [429, { 'retry-after': '86400' }], ['a.example: 60000']],
    ['digits without end', [429, { 'retry-after': '9'.repeat(999) }], ['a.example: 60000']],
    [
      'a date in a thousand years',
      [429, { 'retry-after': 'Wed, 01 Jan 3026 00:00:00 GMT' }],
      ['a.example: 60000'],
    ],
  ])('pauses by %s', async (_, answer, expected) => {
    expect(await pausesAfter(answer)).toEqual(expected);
  });

  it('pauses at most for maxPause, but for a period', async () => {
    const answer: Answer = [429, { 'retry-after': '9' }];
    expect(await pausesAfter(answer, { maxPause: '2s' })).toEqual(['a.example: 2000']);
    expect(await pausesAfter(answer, { maxPause: 1 })).toEqual([`a.example: ${PERIOD_MS}`]);
  });

  it('pauses longer by chance, never shorter, by jitter of it at most', async () => {
    const answer: Answer = [429, { 'retry-after': '10' }];
    expect(await pausesAfter(answer, { random: () => 0.5 })).toEqual(['a.example: 11000']);
    expect(await pausesAfter(answer, { random: () => 0.5, jitter: 1 })).toEqual([
      'a.example: 15000',
    ]);
    expect(await pausesAfter(answer, { random: () => 0.9, jitter: 0 })).toEqual([
      'a.example: 10000',
    ]);
  });

  it('without a time pauses twice as long each time, until a call passes', async () => {
    const { time, send, pauses } = setUp([[429], [429], [429], [200], [429]]);
    for (let call = 0; call < 5; call += 1) await within(time, 10_000, send(URL_A));
    expect(pauses().map((pause) => pause.slice(11))).toEqual(['1000', '2000', '4000', '1000']);
  });

  it('of calls that were on the wire together counts once', async () => {
    const answer = async (): Promise<Response> => {
      await time.sleep(500);
      return new Response(null, { status: 429 });
    };
    const { time, send, pauses } = setUp([], { fetch: answer });
    await within(time, 2000, Promise.all([1, 2, 3, 4].map(() => send(URL_A))));
    expect(pauses().map((pause) => pause.slice(11))).toEqual(['1000', '1000', '1000', '1000']);
  });

  it('is obeyed by other processes, and by nobody who calls another host', async () => {
    const { time, send, calls } = setUp([[429, { 'retry-after': '3' }]]);
    await within(time, 0, send(URL_A));
    await within(time, 5000, Promise.all([send(URL_A), send('https://b.example/')]));
    expect(calls.map(({ atMs }) => atMs)).toEqual([0, 0, 3000]);
  });

  it('is told', async () => {
    const { time, send, events } = setUp([[429], [503, { 'retry-after': '3' }]]);
    await within(time, 2000, send(URL_A));
    await within(time, 0, send(URL_A));
    expect(events).toEqual([
      { key: 'a.example', pauseMs: 1000, status: 429, cause: 'unsaid' },
      { key: 'a.example', pauseMs: 3000, status: 503, cause: 'retry-after' },
    ]);
  });
});

describe('with keys of your own', () => {
  const key = ({ url }: Request): string => new URL(url).pathname.slice(1);
  const to = (account: string): string => `https://a.example/${account}`;

  it('a 429 pauses the key alone', async () => {
    const { time, send, calls } = setUp([[429, { 'retry-after': '3' }]], { key });
    await within(time, 0, send(to('one')));
    await within(time, 5000, Promise.all([send(to('one')), send(to('two'))]));
    expect(calls.map(({ atMs }) => atMs)).toEqual([0, 0, 3000]);
  });

  it('a 503 pauses all keys of its host, also for who waits already, and no other host', async () => {
    const { time, send, calls } = setUp([[503, { 'retry-after': '3' }]], { key });
    const early = [send(to('one')), send(to('one')), send(to('two'))];
    await within(time, 0, early[0] as Promise<Response>);
    const late = [send(to('three')), send('https://b.example/four')];
    await within(time, 5000, Promise.all([...early, ...late]));
    // `two` had its slot at the same moment as the call that was rejected.
    expect(calls.map(({ atMs }) => atMs)).toEqual([0, 0, 0, 3000, 3000]);
  });

  it('a 503 is known although thousands of other keys were paused since', async () => {
    const fetch = async (input: unknown): Promise<Response> => {
      const { host, pathname } = new URL(String(input));
      const status = pathname === '/one' ? 503 : host === 'a.example' ? 200 : 429;
      return new Response(null, { status, headers: { 'retry-after': '3' } });
    };
    const { time, send, shaper, pauses } = setUp([], { key, fetch: fetch as never });
    await within(time, 0, send(to('one')));
    const others = Array.from({ length: 10_000 }, (_, at) => send(`https://b.example/${at}`));
    await within(time, 0, Promise.all(others));
    shaper.pauseOf = () => new Promise(() => undefined);
    void send(to('two'));
    await expect.poll(() => pauses().at(-1)).toBe('two: 3000');
  });
});

describe('a shaper that cannot pause', () => {
  it('is a fault, and the response comes back all the same', async () => {
    const faults: unknown[] = [];
    const { time, send, shaper, events } = setUp([[429], [429, { 'retry-after-ms': '400' }]], {
      onFault: (fault) => void faults.push(fault),
    });
    const error = new Error('no store');
    shaper.pause = () => Promise.reject(error);
    expect((await within(time, 0, send(URL_A))).status).toBe(429);
    expect(faults).toEqual([{ limiter: 'fake', source: 'store', error }]);
    expect(events).toEqual([]);
    const asked: number[] = [];
    shaper.pause = async (_, ms) => void asked.push(Number(ms));
    await within(time, PERIOD_MS, send(URL_A));
    expect(asked).toEqual([400]);
  });

  it('is a line in the log where there is no onFault, and so is an onPause that throws', async () => {
    const lines: string[] = [];
    const { time, send } = setUp([[429]], {
      logger: { warn: (line) => void lines.push(line) },
      onPause: () => {
        throw new Error('mine');
      },
    });
    expect((await within(time, 0, send(URL_A))).status).toBe(429);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain('mine');
  });
});
