/** A service on the modelled event loop, its traffic, and the results. */

import type { Admission, Guard, LimitRequest } from '@spillway/core';
import type { Random } from 'spillway-testkit';
import type { EventLoop, Processor, Task } from './event-loop.js';

/** The traffic's classes with their shares; the path of a request is its class. */
const MIX = { critical: 0.2, post: 0.3, get: 0.4, test: 0.1 } as const;
type Class = keyof typeof MIX;

/**
 * Milliseconds of the loop: to read a request, for each of the two pieces of its work (on average), and to reject it.
 */
const PARSE_MS = 0.15;
const WORK_MS = 1.5;
const REFUSE_MS = 0.25;
/** How long clients wait. Later responses are useless, but their work is still done. */
const DEADLINE_MS = 1000;

/** Requests a second that the loop can serve. */
export const CAPACITY: number = 1000 / (PARSE_MS + 2 * WORK_MS);

export interface Traffic {
  readonly seconds: number;
  /** Requests a second at a time in seconds. */
  rate(atSeconds: number): number;
  /** How long a request waits for its dependency on average. `capacity`: how many requests a second this can serve. */
  readonly dependency: { readonly meanMs: number; readonly capacity?: number };
  /** Whether each request comes on a new connection. Default: connections are kept. */
  readonly reconnects?: boolean;
  /** What stops the loop now and then, as a collection of garbage does. */
  readonly pause?: { readonly everyMs: number; readonly busyMs: number };
  /** How the service shares its processor. Default: it is alone. */
  readonly processor?: Processor;
}

export interface Result {
  /** Requests a second that were served in time. */
  readonly goodput: number;
  readonly offered: Record<Class, number>;
  readonly served: Record<Class, number>;
  /** The fraction rejected, in each tenth of a second. */
  readonly rejected: readonly number[];
}

/** The dependency as a pool of connections shows it: requests that have a connection, or wait for one. */
export interface Pool {
  asked: number;
}

/** Sends the traffic through a guard in memory, if any, to a service with one dependency. */
export function serve(
  loop: EventLoop,
  random: Random,
  traffic: Traffic,
  guard: Guard | undefined,
  pool: Pool = { asked: 0 },
): Result {
  const result = begin(loop, random, traffic, guard, pool);
  loop.runUntil(traffic.seconds * 1000);
  return result();
}

/** The same for a loop that the caller runs. The caller asks for the result at the end. */
export function begin(
  loop: EventLoop,
  random: Random,
  traffic: Traffic,
  guard: Guard | undefined,
  pool: Pool = { asked: 0 },
): () => Result {
  const offered = { critical: 0, post: 0, get: 0, test: 0 };
  const served = { critical: 0, post: 0, get: 0, test: 0 };
  const bins = Array.from({ length: Math.ceil(traffic.seconds * 10) }, () => ({ all: 0, no: 0 }));
  const wait = dependency(loop, random, traffic.dependency, pool);

  const arrive = (): void => {
    const arrivedMs = loop.nowMs;
    const name = draw(random);
    offered[name] += 1;
    const bin = bins[Math.floor(arrivedMs / 100)];
    if (bin) bin.all += 1;
    const request: Task = () => {
      const admission = guard?.admit(requestOf(name)) as Admission | undefined;
      if (admission?.allowed === false) {
        if (bin) bin.no += 1;
        return { busyMs: REFUSE_MS };
      }
      const finish = (): void => {
        admission?.release({ status: 200 });
        if (loop.nowMs - arrivedMs <= DEADLINE_MS) served[name] += 1;
      };
      const second = (): void =>
        loop.enqueue(() => ({ busyMs: random.exponential(WORK_MS), after: finish }));
      return { busyMs: PARSE_MS + random.exponential(WORK_MS), after: () => wait(second) };
    };
    if (traffic.reconnects) loop.connect(request);
    else loop.enqueue(request);
  };
  const follow = (): void => {
    const gapMs = random.exponential(1000 / traffic.rate(loop.nowMs / 1000));
    loop.at(loop.nowMs + gapMs, () => {
      arrive();
      follow();
    });
  };
  follow();
  const { pause } = traffic;
  if (pause) loop.every(pause.everyMs, pause.busyMs, () => {});
  return () => {
    const all = served.critical + served.post + served.get + served.test;
    const rejected = bins.map((bin) => (bin.all === 0 ? 0 : bin.no / bin.all));
    return { goodput: all / traffic.seconds, offered, served, rejected };
  };
}

/** Waits off the loop; with a capacity, requests also queue one behind another. */
function dependency(
  loop: EventLoop,
  random: Random,
  { meanMs, capacity }: Traffic['dependency'],
  pool: Pool,
): (done: () => void) => void {
  let freeMs = 0;
  return (done) => {
    if (capacity !== undefined) {
      freeMs = Math.max(freeMs, loop.nowMs) + random.exponential(1000 / capacity);
    }
    pool.asked += 1;
    loop.at(Math.max(freeMs, loop.nowMs) + random.exponential(meanMs), () => {
      pool.asked -= 1;
      done();
    });
  };
}

function draw(random: Random): Class {
  let left = random.uniform();
  for (const [name, share] of Object.entries(MIX)) {
    left -= share;
    if (left < 0) return name as Class;
  }
  return 'test';
}

function requestOf(name: Class): LimitRequest {
  return {
    method: 'GET',
    path: name,
    clientIp: undefined,
    header: () => undefined,
    raw: undefined,
  };
}
