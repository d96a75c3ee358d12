/** When the fields of an answer pause a key, and for how long: no longer than they say, and never without a reason. */

import { describe, expect, it } from 'vitest';
import { type Answer, setUp, URL_A, within } from './paced-fetch-set-up.js';

const PERIOD_MS = 100;

/** The answer of a server; `limit`, if given, is in its policy field. */
function left(units: number, seconds: number, limit?: number): Answer {
  const policy = limit === undefined ? {} : { 'ratelimit-policy': `"p";q=${limit};w=${seconds}` };
  return [200, { ratelimit: `"a";r=${units};t=${seconds}`, ...policy }];
}

/** The last pause after calls that get these answers one after another and take this long. */
async function pauseAfter(
  answers: readonly Answer[],
  tookMs: readonly number[] = [],
  options = {},
) {
  let call = 0;
  const set = setUp([], {
    ...options,
    fetch: async () => {
      const [status, headers = {}] = answers[call] as Exclude<Answer, Error>;
      const ms = tookMs[call] ?? 0;
      call += 1;
      await set.time.sleep(ms);
      return new Response(null, { status, headers });
    },
  });
  for (const _ of answers) await within(set.time, 10_000, set.send(URL_A));
  return set.events.at(-1);
}

const OTHERS: readonly Answer[] = Array.from({ length: 6000 }, () => [200]);

describe('an answer', () => {
  it('with nothing left pauses the key until there is more', async () => {
    const event = { key: 'a.example', pauseMs: 7000, status: 200, cause: 'quota' };
    expect(await pauseAfter([left(0, 7)])).toEqual(event);
  });

  it('with something left pauses nothing', async () => {
    expect(await pauseAfter([left(1, 7), left(100, 7)])).toBeUndefined();
  });

  it('that tells of several limits pauses for the longest that is spent, whatever their names', async () => {
    const ratelimit = '"a";r=0;t=3, "b";r=0;t=8, "c";r=4;t=50, "a";r=0;t=5';
    expect(await pauseAfter([[200, { ratelimit }]])).toMatchObject({ pauseMs: 8000 });
  });

  it('pauses for maxPause at most', async () => {
    expect(await pauseAfter([left(0, 86_400)])).toMatchObject({ pauseMs: 60_000 });
  });

  it('pauses up to a share of one period longer, by chance', async () => {
    const options = { random: () => 0.5, jitter: 0.4 };
    expect(await pauseAfter([left(0, 7)], [], options)).toMatchObject({ pauseMs: 7020 });
  });

  it('with an error status is read, too', async () => {
    const [, headers] = left(0, 7) as [number, Record<string, string>];
    expect(await pauseAfter([[404, headers]])).toMatchObject({ pauseMs: 7000, status: 404 });
  });
});

describe('the second that rounding added', () => {
  it('is taken off as far as the pace shows that the window is older', async () => {
    // 4 units were spent earlier, so the window is at least 400 ms old.
    expect(await pauseAfter([left(0, 1, 5)])).toMatchObject({ pauseMs: 600 });
    expect(await pauseAfter([left(4, 1), left(0, 1)])).toMatchObject({ pauseMs: 600 });
  });

  it('is all that is taken off', async () => {
    expect(await pauseAfter([left(0, 10, 1000)])).toMatchObject({ pauseMs: 9000 });
  });

  it('leaves no pause where the pace of the shaper takes as long', async () => {
    expect(await pauseAfter([left(0, 1, 10)])).toBeUndefined();
    expect(await pauseAfter([left(0, 1, 9)])).toMatchObject({ pauseMs: 200 });
  });

  const refused: Answer = [429, { 'retry-after': '1' }];
  const spent = left(0, 1, 5);

  it('is a wait with a margin after two refusals in thirty windows, and for as long', async () => {
    expect(await pauseAfter([spent, refused, spent])).toMatchObject({ pauseMs: 600 });
    expect(await pauseAfter([spent, refused, refused, spent])).toMatchObject({ pauseMs: 625 });
    expect(await pauseAfter([spent, refused, spent, refused, spent])).toMatchObject({
      pauseMs: 625,
    });
    // Each call takes ten seconds here: after three more calls the thirty windows have passed.
    const later = [spent, refused, refused, spent, spent, spent, spent];
    expect(await pauseAfter(later)).toMatchObject({ pauseMs: 600 });
    const apart = [spent, refused, spent, spent, spent, refused, spent];
    expect(await pauseAfter(apart)).toMatchObject({ pauseMs: 600 });
  });

  it('is waited for after further refusals, as long as the answer says', async () => {
    const after = (more: number): Promise<unknown> =>
      pauseAfter([spent, ...Array.from({ length: 2 + more }, () => refused), spent]);
    expect(await after(1)).toMatchObject({ pauseMs: 700 });
    expect(await after(2)).toMatchObject({ pauseMs: 1000 });
  });

  it('is twice a second between two dates in whole seconds', async () => {
    const window = (units: number, reset: number): Answer => [
      200,
      {
        date: 'Tue, 15 Jan 2030 00:00:00 GMT',
        'x-ratelimit-limit': '5',
        'x-ratelimit-remaining': String(units),
        'x-ratelimit-reset': String(Date.UTC(2030, 0, 15) / 1000 + reset),
      },
    ];
    const options = { xRateLimit: true };
    expect(await pauseAfter([window(4, 3), window(0, 3)], [], options)).toMatchObject({
      pauseMs: 1600,
    });
    expect(await pauseAfter([window(4, 9), window(0, 3)], [], options)).toMatchObject({
      pauseMs: 3000,
    });
  });
});

describe('what was learnt of a limit', () => {
  it('is kept while answers do not tell of it', async () => {
    expect(await pauseAfter([left(4, 1), [200, {}], left(0, 1)])).toMatchObject({ pauseMs: 600 });
  });

  it('is waited out with the margin for twice as long, if refusals go on when that was over', async () => {
    const refused: Answer = [429, { 'retry-after': '1' }];
    const spent = left(0, 1, 5);
    // Each call takes ten seconds. Two rejections, thirty seconds, then one more: now sixty seconds with the margin.
    const twice = [spent, refused, refused, spent, spent, spent, refused];
    const after = (calls: number): Promise<unknown> =>
      pauseAfter([...twice, ...Array.from({ length: calls }, () => spent)]);
    expect(await after(5)).toMatchObject({ pauseMs: 625 });
    expect(await after(7)).toMatchObject({ pauseMs: 600 });
  });

  it('has its margin once for calls that were refused together', async () => {
    const refused: Answer = [429, { 'retry-after': '1' }];
    const answers = [left(0, 1, 5), refused, refused, refused, left(0, 1, 5)];
    let call = 0;
    const set = setUp([], {
      fetch: async () => {
        const [status, headers = {}] = answers[call] as Exclude<Answer, Error>;
        call += 1;
        await set.time.sleep(250);
        return new Response(null, { status, headers });
      },
    });
    await within(set.time, 10_000, set.send(URL_A));
    await within(set.time, 10_000, Promise.all([1, 2, 3].map(() => set.send(URL_A))));
    await within(set.time, 10_000, set.send(URL_A));
    expect(set.events.at(-1)).toMatchObject({ pauseMs: 600 });
  });
});

describe('a call that took long', () => {
  it('took so long because the server worked: that time is gone', async () => {
    expect(await pauseAfter([left(9, 9), left(0, 5)], [10, 1010])).toMatchObject({ pauseMs: 4000 });
  });

  it('names a time that is over by now', async () => {
    expect(await pauseAfter([left(9, 9), left(0, 2)], [10, 3000])).toBeUndefined();
  });

  it('leaves what is left to the calls that started meanwhile, if somebody waits', async () => {
    const set = setUp([], {
      fetch: async () => {
        await set.time.sleep(3 * PERIOD_MS);
        return new Response(null, { headers: { ratelimit: '"a";r=3;t=9' } });
      },
    });
    await within(set.time, 1000, set.send(URL_A));
    expect(set.events).toEqual([]);
    for (let call = 0; call < 9; call += 1) void set.send(URL_A);
    await set.time.run(3 * PERIOD_MS);
    expect(set.events).toMatchObject([{ cause: 'quota', pauseMs: 9000 }]);
  });
});

it('a pause that ends before one that is known is not sent again', async () => {
  const answers = [left(0, 9), left(0, 9), left(0, 3)];
  let call = 0;
  const set = setUp([], {
    fetch: async () => {
      const [status, headers = {}] = answers[call] as Exclude<Answer, Error>;
      call += 1;
      await set.time.sleep(1000);
      return new Response(null, { status, headers });
    },
  });
  const calls = Promise.all([1, 2, 3].map(() => set.send(URL_A)));
  await within(set.time, 2000, calls);
  expect(set.pauses()).toEqual(['a.example: 9000', 'a.example: 9000']);
});

it.each([
  [9_000, 2000],
  [10_100, 1000],
])('after calls with %i other keys the next pause of a key is %i ms', async (others, pauseMs) => {
  const key = ({ url }: Request): string => new URL(url).pathname;
  const refusals = Array.from({ length: others + 2 }, (_, call): Answer => {
    return call === 0 || call === others + 1 ? [429] : [200];
  });
  const { time, send, events } = setUp(refusals, { key });
  await within(time, 0, send(URL_A));
  for (let other = 0; other < others; other += 1) await send(`https://a.example/${other}`);
  await within(time, 2000, send(URL_A));
  expect(events.at(-1)).toMatchObject({ pauseMs, cause: 'unsaid' });
});

it('of ten thousand keys the one that was used again is not forgotten', async () => {
  const key = ({ url }: Request): string => new URL(url).pathname;
  const { time, send, events } = setUp([[429], ...OTHERS, [429], ...OTHERS, [429]], { key });
  for (let round = 0; round < 3; round += 1) {
    await within(time, 9000, send(URL_A));
    for (let other = 0; other < 6000; other += 1) await send(`https://a.example/${round}/${other}`);
  }
  expect(events.map(({ pauseMs }) => pauseMs)).toEqual([1000, 2000, 4000]);
});
