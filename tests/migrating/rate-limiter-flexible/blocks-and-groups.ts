/** Blocks, several limiters as one, queues, and a store that fails, as rate-limiter-flexible has them. */

import { type Case, differs, same } from '../cases.js';
import { passes, startsOf } from '../world.js';
import type { Group, Queue, Subject } from './subject.js';

const blocking = { points: 2, duration: 10, blockDuration: 3_600 } as const;

const starts = (queue: Queue, count: number) =>
  startsOf(Array.from({ length: count }, () => () => queue.start()));

async function times(group: Group, count: number, key = 'ada'): Promise<boolean[]> {
  const seen: boolean[] = [];
  for (let i = 0; i < count; i += 1) seen.push(await group.consume(key));
  return seen;
}

const second = { points: 1, duration: 1, keyPrefix: 'second' } as const;
const minute = { points: 5, duration: 60, keyPrefix: 'minute' } as const;

export const blocksAndGroups: readonly Case<Subject>[] = [
  same(
    'blocks with `blockDuration` for longer than the duration',
    [true, true, 3_600_000],
    async (on) => {
      const limiter = on.limiter(blocking);
      const first = [await limiter.consume('ada'), await limiter.consume('ada')];
      const { waitMs } = await limiter.consume('ada');
      return [...first.map((one) => one.passes), waitMs];
    },
  ),
  same(
    'refuses until the block is over, and then counts anew',
    [false, false, true],
    async (on) => {
      const limiter = on.limiter(blocking);
      for (let i = 0; i < 3; i += 1) await limiter.consume('ada');
      await passes(10_000);
      const during = await limiter.consume('ada');
      await passes(3_589_000);
      const late = await limiter.consume('ada');
      await passes(1_000);
      return [during, late, await limiter.consume('ada')].map((one) => one.passes);
    },
  ),
  same('does not make a block longer that is there', [false, true], async (on) => {
    const limiter = on.limiter(blocking);
    for (let i = 0; i < 3; i += 1) await limiter.consume('ada');
    await passes(1_800_000);
    const during = await limiter.consume('ada');
    await passes(1_800_000);
    return [during.passes, (await limiter.consume('ada')).passes];
  }),
  differs(
    'frees a key early where `blockDuration` is shorter than what is left of the duration',
    {
      theirs: [false, true],
      ours: [false, false],
      because: 'A block beside a limit does not shorten it.',
    },
    async (on) => {
      const limiter = on.limiter({ points: 1, duration: 10, blockDuration: 2 });
      await limiter.consume('ada');
      const refused = await limiter.consume('ada');
      await passes(2_000);
      return [refused.passes, (await limiter.consume('ada')).passes];
    },
  ),
  same('blocks a key by hand with `block`', [false, false, true], async (on) => {
    const limiter = on.limiter({ points: 5, duration: 10 });
    await limiter.block('ada', 60);
    const first = await limiter.consume('ada');
    await passes(59_000);
    const late = await limiter.consume('ada');
    await passes(1_000);
    return [first, late, await limiter.consume('ada')].map((one) => one.passes);
  }),
  differs(
    'never expires with `duration: 0`',
    {
      theirs: [true, false],
      ours: 'SPW_WINDOW_INVALID',
      because: 'A window is at most 400 days long. What never comes back is a stock, not a limit.',
    },
    async (on) => {
      try {
        const limiter = on.limiter({ points: 1, duration: 0 });
        return [(await limiter.consume('ada')).passes, (await limiter.consume('ada')).passes];
      } catch (error) {
        return (error as { code?: string }).code;
      }
    },
  ),
  differs(
    'lets nobody pass with `points: 0`',
    {
      theirs: false,
      ours: 'SPW_LIMIT_INVALID',
      because: 'A limit of 0 throws, as a mistake. In `rateLimit` a function may answer 0.',
    },
    async (on) => {
      try {
        return (await on.limiter({ points: 0, duration: 10 }).consume('ada')).passes;
      } catch (error) {
        return (error as { code?: string }).code;
      }
    },
  ),
  same('throws for points and durations that are no numbers', [true, true], async (on) => {
    const wrong = [
      { points: Number.NaN, duration: 1 },
      { points: 1, duration: -1 },
    ];
    return wrong.map((options) => {
      try {
        on.limiter(options);
        return false;
      } catch {
        return true;
      }
    });
  }),
  same('lets pass with `RateLimiterUnion` what every limiter lets pass', [true, false], (on) =>
    times(on.union(second, minute), 2),
  ),
  differs(
    'charges with `RateLimiterUnion` the limiters that let pass what another refuses',
    {
      theirs: [2, 2],
      ours: [1, 1],
      because: 'Several limits are one decision: if one refuses, none is charged.',
    },
    async (on) => {
      const union = on.union(second, minute);
      await times(union, 2);
      return union.consumed('ada');
    },
  ),
  same(
    'takes from a second limiter with `BurstyRateLimiter` when the first has nothing left',
    [true, true, true, false],
    (on) => times(on.bursty(second, { points: 2, duration: 60, keyPrefix: 'burst' }), 4),
  ),
  same(
    'goes back to the first limiter of `BurstyRateLimiter` when it may',
    [true, true, false, true, false],
    async (on) => {
      const bursty = on.bursty(second, { points: 1, duration: 60, keyPrefix: 'burst' });
      const before = await times(bursty, 3);
      await passes(1_000);
      return [...before, ...(await times(bursty, 2))];
    },
  ),
  same('counts with `insuranceLimiter` where the store fails', [true, true, false], async (on) => {
    const limiter = on.insured({ points: 2, duration: 10 });
    const seen: boolean[] = [];
    for (let i = 0; i < 3; i += 1) seen.push((await limiter.consume('ada')).passes);
    return seen;
  }),
  same('spreads with `execEvenly` what comes at once', [0, 5_000], (on) =>
    starts(on.evenly({ points: 2, duration: 10 }), 2),
  ),
  differs(
    'refuses with `execEvenly` what is more than the points',
    {
      theirs: [0, 5_000, 'refused'],
      ours: [0, 5_000, 10_000],
      because: 'A shaper lets wait what can start within `maxWait`.',
    },
    (on) => starts(on.evenly({ points: 2, duration: 10 }), 3),
  ),
  differs(
    'starts with `RateLimiterQueue` all that a duration admits at its beginning',
    {
      theirs: [0, 0, 1_000, 1_000, 2_000],
      ours: [0, 500, 1_000, 1_500, 2_000],
      because: 'A shaper starts one by one: the same rate, spread evenly.',
    },
    (on) => starts(on.queue({ points: 2, duration: 1 }), 5),
  ),
  same('refuses what is more than `maxQueueSize`', [0, 1_000, 'refused'], (on) =>
    starts(on.queue({ points: 1, duration: 1 }, 1), 3),
  ),
];
