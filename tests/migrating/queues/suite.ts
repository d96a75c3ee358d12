/** The behaviours of bottleneck, p-queue, p-throttle and limiter, gathered from their documentation. */

import { type Case, differs, type Suite, same } from '../cases.js';
import { passes, startsOf } from '../world.js';
import { type JobOptions, ours, type Queue, type Subject, theirs } from './subject.js';

/** When each of some jobs starts; by default they take no time. */
const starts = (queue: Queue, jobs: readonly JobOptions[], work = (): unknown => undefined) =>
  startsOf(
    jobs.map(
      (options) => () =>
        new Promise((started, refused) => {
          queue
            .run(() => {
              started(undefined);
              return work();
            }, options)
            .catch(refused);
        }),
    ),
  );

const jobs = (count: number): JobOptions[] => Array.from({ length: count }, () => ({}));
const second = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 1_000));

/** Whether a queue is idle before and after the end of its third job, which takes this long. */
async function idleness(queue: Queue, ms: number): Promise<string[]> {
  let state = 'busy';
  for (const options of jobs(3)) void queue.run(second, options);
  void queue.idle().then(() => {
    state = 'idle';
  });
  await passes(ms - 100);
  const before = state;
  await passes(200);
  return [before, state];
}

/** Without `maxConcurrent`, bottleneck has no queue: it assigns each job its time at once. */
const oneByOne = { minTime: 250, maxConcurrent: 1 } as const;

const ONE_BY_ONE = 'A shaper starts one by one: the same rate, spread evenly.';

const bottleneck: readonly Case<Subject>[] = [
  same('starts one every `minTime`', [0, 250, 500], (on) =>
    starts(on.bottleneck({ minTime: 250 }), jobs(3)),
  ),
  same('has a pace for each key of a `Group`', [0, 0, 250, 250], (on) =>
    starts(on.bottleneck({ minTime: 250 }), [
      { key: 'a' },
      { key: 'b' },
      { key: 'a' },
      { key: 'b' },
    ]),
  ),
  same('starts first what has a better `priority`', [0, 250, 750, 500], (on) =>
    starts(on.bottleneck(oneByOne), [{}, {}, { priority: 9 }, { priority: 1 }]),
  ),
  same(
    'refuses what is above `highWater` with the strategy `OVERFLOW`',
    [0, 250, 500, 'refused'],
    (on) => starts(on.bottleneck({ ...oneByOne, highWater: 1, strategy: 2 as never }), jobs(4)),
  ),
  differs(
    'throws out what waits for what comes, with the strategy `LEAK`',
    {
      theirs: [0, 250, 'refused', 500],
      ours: [0, 250, 500, 'refused'],
      because: 'What waits is never thrown out for another.',
    },
    (on) => starts(on.bottleneck({ ...oneByOne, highWater: 1, strategy: 1 as never }), jobs(4)),
  ),
  differs(
    'fills a `reservoir` all at once',
    {
      theirs: [0, 0, 1_000, 1_000],
      ours: [0, 0, 500, 1_000],
      because: 'What was used comes back one by one.',
    },
    (on) => {
      const every = { reservoirRefreshAmount: 2, reservoirRefreshInterval: 1_000 };
      return starts(on.bottleneck({ reservoir: 2, ...every }), jobs(4));
    },
  ),
  same('runs no more at once than `maxConcurrent`, beside a pace', [0, 1_000, 2_000], (on) =>
    starts(on.bottleneck({ minTime: 250, maxConcurrent: 1 }), jobs(3), second),
  ),
  same('runs no more at once than `maxConcurrent`, without a pace', [0, 0, 1_000, 1_000], (on) =>
    starts(on.bottleneck({ maxConcurrent: 2 }), jobs(4), second),
  ),
  same('starts by `priority` with `maxConcurrent`', [0, 2_000, 1_000], (on) =>
    starts(on.bottleneck({ maxConcurrent: 1 }), [{}, { priority: 9 }, { priority: 1 }], second),
  ),
  same('counts what waits and what runs', [3, 2], async (on) => {
    const queue = on.bottleneck({ maxConcurrent: 2 });
    for (const options of jobs(5)) void queue.run(second, options);
    await passes(10);
    const counts = [queue.waiting(), queue.running()];
    await passes(3_000);
    return counts;
  }),
  same('is idle when the last job has ended', ['busy', 'idle'], (on) =>
    idleness(on.bottleneck({ maxConcurrent: 1 }), 3_000),
  ),
  same(
    'runs with `stop({ dropWaitingJobs: false })` what waits, and takes nothing more',
    ['ran', 'ran', 'refused'],
    async (on) => {
      const queue = on.bottleneck({ maxConcurrent: 1 });
      const ran = () => second().then(() => 'ran');
      const all = [queue.run(ran), queue.run(ran)];
      await passes(10);
      const drained = queue.drain();
      all.push(queue.run(ran));
      const settled = Promise.all(all.map((one) => one.catch(() => 'refused')));
      await passes(3_000);
      await drained;
      return settled;
    },
  ),
  same(
    'refuses with `stop` what waits, and lets end what runs',
    ['ended', 'refused'],
    async (on) => {
      const queue = on.bottleneck({ minTime: 250 });
      const all = [queue.run(() => second().then(() => 'ended')), queue.run(() => 'ran')];
      const settled = Promise.all(all.map((one) => one.catch(() => 'refused')));
      await passes(10);
      const stopped = queue.stop();
      await passes(2_000);
      await stopped;
      return settled;
    },
  ),
];

const pQueue: readonly Case<Subject>[] = [
  same('starts one every interval with `intervalCap: 1`', [0, 500, 1_000], (on) =>
    starts(on.pQueue({ intervalCap: 1, interval: 500 }), jobs(3)),
  ),
  differs(
    'starts all that an interval admits at its beginning',
    { theirs: [0, 0, 1_000, 1_000], ours: [0, 500, 1_000, 1_500], because: ONE_BY_ONE },
    (on) => starts(on.pQueue({ intervalCap: 2, interval: 1_000 }), jobs(4)),
  ),
  same('runs no more at once than `concurrency`, beside a pace', [0, 1_000, 2_000], (on) =>
    starts(on.pQueue({ intervalCap: 1, interval: 250, concurrency: 1 }), jobs(3), second),
  ),
  same('runs no more at once than `concurrency`, without a pace', [0, 0, 1_000, 1_000], (on) =>
    starts(on.pQueue({ concurrency: 2 }), jobs(4), second),
  ),
  same('starts by `priority` with `concurrency`', [0, 3_000, 2_000, 1_000], (on) =>
    starts(
      on.pQueue({ concurrency: 1 }),
      [{}, { priority: 1 }, { priority: 5 }, { priority: 9 }],
      second,
    ),
  ),
  same('tells how much runs', [3, 2], async (on) => {
    const queue = on.pQueue({ concurrency: 2 });
    for (const options of jobs(5)) void queue.run(second, options);
    await passes(10);
    const counts = [queue.waiting(), queue.running()];
    await passes(3_000);
    return counts;
  }),
  same('goes on after work that failed', [0, 1_000], (on) =>
    starts(on.pQueue({ concurrency: 1 }), jobs(2), () =>
      second().then(() => Promise.reject(new Error('of the work'))),
    ),
  ),
  same('is idle when the last job has ended', ['busy', 'idle'], (on) =>
    idleness(on.pQueue({ concurrency: 1 }), 3_000),
  ),
  same('starts first what has a higher `priority`', [0, 1_000, 500], (on) =>
    starts(on.pQueue({ intervalCap: 1, interval: 500 }), [{}, { priority: 1 }, { priority: 9 }]),
  ),
  same('tells how much waits', 2, async (on) => {
    const queue = on.pQueue({ intervalCap: 1, interval: 500 });
    for (const options of jobs(3)) void queue.run(() => undefined, options);
    await passes(10);
    const waiting = queue.waiting();
    await passes(1_000);
    return waiting;
  }),
  same('refuses what is aborted while it waits', [0, 'refused', 500], (on) => {
    const ends = new AbortController();
    const all = starts(on.pQueue({ intervalCap: 1, interval: 500 }), [
      {},
      { signal: ends.signal },
      {},
    ]);
    ends.abort();
    return all;
  }),
];

const pThrottled: readonly Case<Subject>[] = [
  same('starts one every interval with `limit: 1`', [0, 500, 1_000], (on) =>
    starts(on.pThrottle({ limit: 1, interval: 500 }), jobs(3)),
  ),
  differs(
    'starts all that an interval admits at its beginning',
    {
      theirs: [0, 0, 1_000, 1_000],
      ours: [0, 0, 500, 1_000],
      because: 'With `burst` as many start after a rest, and then one by one.',
    },
    (on) => starts(on.pThrottle({ limit: 2, interval: 1_000 }), jobs(4)),
  ),
  same('takes more of the limit for a `weight`', [0, 1_000], (on) =>
    starts(on.pThrottle({ limit: 2, interval: 1_000 }), [{ weight: 2 }, { weight: 2 }]),
  ),
  same('refuses what waits when its signal aborts', ['ran', 'refused'], async (on) => {
    const queue = on.pThrottle({ limit: 1, interval: 500 });
    const all = [queue.run(() => 'ran'), queue.run(() => 'ran')];
    const settled = Promise.all(all.map((one) => one.catch(() => 'refused')));
    await passes(10);
    await queue.stop();
    return settled;
  }),
];

const limiter: readonly Case<Subject>[] = [
  same('takes as many tokens as there are', [true, true, false], async (on) => {
    const tokens = on.limiter(3, 1_000);
    return [tokens.take(1), tokens.take(2), tokens.take(1)];
  }),
  same('tells how many are left', [3, 1], async (on) => {
    const tokens = on.limiter(3, 1_000);
    const before = tokens.left();
    tokens.take(2);
    return [before, tokens.left()];
  }),
  same('has all again after an interval', [false, true], async (on) => {
    const tokens = on.limiter(3, 1_000);
    tokens.take(3);
    const before = tokens.take(3);
    await passes(1_000);
    return [before, tokens.take(3)];
  }),
  same('waits for tokens that are not there yet', [0, 1_000], async (on) => {
    const tokens = on.limiter(1, 1_000);
    return startsOf([() => tokens.wait(1), () => tokens.wait(1)]);
  }),
];

const suiteOf = (peer: string, cases: readonly Case<Subject>[]): Suite<Subject> => ({
  peer,
  cases,
  theirs: () => theirs,
  ours: () => ours,
});

export const queues: readonly Suite<Subject>[] = [
  suiteOf('bottleneck', bottleneck),
  suiteOf('p-queue', pQueue),
  suiteOf('p-throttle', pThrottled),
  suiteOf('limiter', limiter),
];
