/** What a limiter of rate-limiter-flexible returns for a key, call by call. */

import { type Case, differs, same } from '../cases.js';
import { passes } from '../world.js';
import type { Limiter, Subject } from './subject.js';

const five = { points: 5, duration: 10 } as const;

/** Whether each consumption passes; one point each by default. */
async function consume(limiter: Limiter, points: readonly number[], key = 'ada') {
  const seen: boolean[] = [];
  for (const each of points) seen.push((await limiter.consume(key, each)).passes);
  return seen;
}

export const keys: readonly Case<Subject>[] = [
  same('lets as many points pass as there are, and refuses the next', [true, true, false], (on) =>
    consume(on.limiter({ points: 2, duration: 10 }), [1, 1, 1]),
  ),
  same('counts each key by itself', [true, false, true], async (on) => {
    const limiter = on.limiter({ points: 1, duration: 10 });
    const ada = await consume(limiter, [1, 1]);
    return [...ada, ...(await consume(limiter, [1], 'bob'))];
  }),
  same(
    'tells what is consumed, what is left, and when all is back',
    { passes: true, consumed: 3, left: 2, waitMs: 6_000 },
    async (on) => {
      const limiter = on.limiter(five);
      await limiter.consume('ada', 2);
      await passes(4_000);
      return limiter.consume('ada');
    },
  ),
  same('tells with a refusal how long to wait', [false, 7_000], async (on) => {
    const limiter = on.limiter({ points: 1, duration: 10 });
    await limiter.consume('ada');
    await passes(3_000);
    const refusal = await limiter.consume('ada');
    return [refusal.passes, refusal.waitMs];
  }),
  same('admits again when the duration is over', [true, false, true], async (on) => {
    const limiter = on.limiter({ points: 1, duration: 10 });
    const before = await consume(limiter, [1, 1]);
    await passes(10_000);
    return [...before, ...(await consume(limiter, [1]))];
  }),
  same('begins the duration with the first point of a key', [false, true], async (on) => {
    await passes(5_000);
    const limiter = on.limiter({ points: 1, duration: 10 });
    await limiter.consume('ada');
    await passes(9_000);
    const late = await limiter.consume('ada');
    await passes(1_000);
    return [late.passes, (await limiter.consume('ada')).passes];
  }),
  same('takes several points at once', [true, true, false], (on) =>
    consume(on.limiter(five), [3, 2, 1]),
  ),
  same('takes nothing for no points', [true, true, true], (on) =>
    consume(on.limiter({ points: 1, duration: 10 }), [0, 1, 0]),
  ),
  same('counts right where calls come at once', 5, async (on) => {
    const limiter = on.limiter(five);
    const all = await Promise.all(Array.from({ length: 12 }, () => limiter.consume('ada')));
    return all.filter((one) => one.passes).length;
  }),
  same('takes any text as a key', [true, true, true, false], async (on) => {
    const limiter = on.limiter({ points: 1, duration: 10 });
    const named = ['__proto__', 'a:b:c', 'ключ', 'ключ'];
    const seen: boolean[] = [];
    for (const key of named) seen.push((await limiter.consume(key)).passes);
    return seen;
  }),
  differs(
    'takes a number as a key',
    {
      theirs: true,
      ours: 'SPW_KEY_INVALID',
      because: 'A key is a text: write `String(id)`.',
    },
    async (on) => {
      try {
        return (await on.limiter(five).consume(7)).passes;
      } catch (error) {
        return (error as { code?: string }).code;
      }
    },
  ),
  differs(
    'counts what it refuses: a consumption that did not pass uses up the rest',
    {
      theirs: [true, false, false],
      ours: [true, false, true],
      because: 'A refused request uses up nothing.',
    },
    (on) => consume(on.limiter(five), [4, 3, 1]),
  ),
  differs(
    'tells how often more than all was asked for',
    {
      theirs: [1, 2, 3],
      ours: [1, 1, 1],
      because: 'A refused request uses up nothing, so `used` does not contain it.',
    },
    async (on) => {
      const limiter = on.limiter({ points: 1, duration: 10 });
      const seen: number[] = [];
      for (let i = 0; i < 3; i += 1) seen.push((await limiter.consume('ada')).consumed);
      return seen;
    },
  ),
  differs(
    'refuses more points than there are until the duration is over, and uses up all',
    {
      theirs: [false, 10_000, false],
      ours: [false, Number.POSITIVE_INFINITY, true],
      because: 'No wait helps (`reason: never`), and a refused request uses up nothing.',
    },
    async (on) => {
      const limiter = on.limiter(five);
      const refusal = await limiter.consume('ada', 6);
      return [refusal.passes, refusal.waitMs, (await limiter.consume('ada')).passes];
    },
  ),
  differs(
    'gives each consumption a duration of its own, with `customDuration`',
    {
      theirs: [true, false, true],
      ours: [true, false, false],
      because: 'The window belongs to the limiter. Two windows are two limiters.',
    },
    async (on) => {
      const limiter = on.limiter({ points: 1, duration: 10 });
      const before = [await limiter.consume('ada', 1, 2), await limiter.consume('ada', 1, 2)];
      await passes(2_000);
      return [...before, await limiter.consume('ada', 1, 2)].map((one) => one.passes);
    },
  ),
  same(
    'tells with `get` without consuming',
    { consumed: 2, left: 3, waitMs: 10_000 },
    async (on) => {
      const limiter = on.limiter(five);
      await limiter.consume('ada', 2);
      await limiter.get('ada');
      return limiter.get('ada');
    },
  ),
  same('knows nothing of a key that was never used', null, (on) => on.limiter(five).get('ada')),
  same('knows nothing of a key when its duration is over', null, async (on) => {
    const limiter = on.limiter(five);
    await limiter.consume('ada');
    await passes(10_000);
    return limiter.get('ada');
  }),
  same('forgets a key with `delete`', [true, true, false], async (on) => {
    const limiter = on.limiter({ points: 1, duration: 10 });
    const before = await consume(limiter, [1]);
    const deleted = await limiter.delete('ada');
    await consume(limiter, [1]);
    return [...before, deleted, ...(await consume(limiter, [1]))];
  }),
  differs(
    'answers `delete` of an unknown key with false',
    {
      theirs: false,
      ours: true,
      because: '`reset` says whether the store could be told, not whether there was anything.',
    },
    (on) => on.limiter(five).delete('nobody'),
  ),
  same(
    'consumes with `penalty` what nobody asked for',
    { consumed: 4, left: 1, waitMs: 10_000 },
    async (on) => {
      const limiter = on.limiter(five);
      await limiter.consume('ada');
      await limiter.penalty('ada', 3);
      return limiter.get('ada');
    },
  ),
  same('refuses after a penalty', [true, false], async (on) => {
    const limiter = on.limiter({ points: 3, duration: 10 });
    const before = await consume(limiter, [1]);
    await limiter.penalty('ada', 2);
    return [...before, ...(await consume(limiter, [1]))];
  }),
  differs(
    'counts a penalty of more than all',
    {
      theirs: { consumed: 50, left: 0, waitMs: 10_000 },
      ours: { consumed: 5, left: 0, waitMs: 10_000 },
      because: '`record` stops where nothing is left: a limit has no debt.',
    },
    async (on) => {
      const limiter = on.limiter(five);
      await limiter.penalty('ada', 50);
      return limiter.get('ada');
    },
  ),
  same('gives points back with `reward`', { consumed: 1, left: 4, waitMs: 10_000 }, async (on) => {
    const limiter = on.limiter(five);
    await limiter.consume('ada', 3);
    await limiter.reward('ada', 2);
    return limiter.get('ada');
  }),
  differs(
    'gives more with `reward` than was consumed',
    {
      theirs: [true, true, true],
      ours: [true, true, false],
      because: '`refund` gives back what a decision charged, and no more.',
    },
    async (on) => {
      const limiter = on.limiter({ points: 2, duration: 10 });
      await limiter.consume('ada');
      await limiter.reward('ada', 2);
      return consume(limiter, [1, 1, 1]);
    },
  ),
  same(
    'puts a key where it should be with `set`',
    { consumed: 4, left: 1, waitMs: 10_000 },
    async (on) => {
      const limiter = on.limiter(five);
      await limiter.set('ada', 4, 10);
      return limiter.get('ada');
    },
  ),
];
