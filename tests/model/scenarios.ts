/** The overloads that a worker shedder must survive, run on the model. */

import {
  concurrencyLimit,
  createGuard,
  fleetShedder,
  type Limiter,
  type LimitRequest,
  memoryStore,
  type Signal,
  type WorkerShedder,
  workerShedder,
} from '@spillway/core';
import { seeded } from 'spillway-testkit';
import { WaitMeter } from '../../packages/core/src/node/wait-meter.js';
import { EventLoop } from './event-loop.js';
import { CAPACITY, type Pool, type Result, serve, type Traffic } from './service.js';

/** The brake's constants were chosen with other seeds (1 to 3), so these assertions are not fitted to them. */
export const SEEDS: readonly number[] = [101, 102, 103];

const USUAL = 0.6 * CAPACITY;
/** Requests a second that keep the loop busy for 3 % of the time. */
const IDLE = 10;
/** The wait that counts as 1, as the Node signal has it. */
const MARK_MS = 40;
const FAST = { meanMs: 20 };

export const SCENARIOS = {
  twice: { seconds: 120, rate: () => 2 * CAPACITY, dependency: FAST },
  'ten minutes at twice': { seconds: 600, rate: () => 2 * CAPACITY, dependency: FAST },
  'twice on new connections': {
    seconds: 120,
    rate: () => 2 * CAPACITY,
    dependency: FAST,
    reconnects: true,
  },
  slightly: { seconds: 120, rate: () => 1.2 * CAPACITY, dependency: FAST },
  'slow dependency': { seconds: 120, rate: () => USUAL, dependency: { meanMs: 400 } },
  'saturated dependency': {
    seconds: 120,
    rate: () => USUAL,
    dependency: { meanMs: 20, capacity: 107 },
  },
  'saturated dependency at twice': {
    seconds: 120,
    rate: () => 2 * 107,
    dependency: { meanMs: 20, capacity: 107 },
  },
  spike: {
    seconds: 30,
    rate: (atSeconds) => (atSeconds >= 5 && atSeconds < 10 ? 3 * CAPACITY : USUAL),
    dependency: FAST,
  },
  aftermath: {
    seconds: 240,
    rate: (atSeconds) => (atSeconds < 120 ? 2 * CAPACITY : USUAL),
    dependency: FAST,
  },
  pauses: {
    seconds: 120,
    rate: () => USUAL,
    dependency: FAST,
    pause: { everyMs: 5000, busyMs: 100 },
  },
  'long pauses': {
    seconds: 120,
    rate: () => 0.7 * CAPACITY,
    dependency: FAST,
    pause: { everyMs: 1000, busyMs: 150 },
  },
  'spike from idle': {
    seconds: 30,
    rate: (atSeconds) => (atSeconds >= 5 ? 3 * CAPACITY : IDLE),
    dependency: FAST,
  },
  'idle beside neighbours': {
    seconds: 120,
    rate: () => IDLE,
    dependency: FAST,
    processor: { everyMs: 60, ownMs: 20 },
  },
  'idle under a CPU limit': {
    seconds: 120,
    rate: () => IDLE,
    dependency: FAST,
    processor: { everyMs: 100, ownMs: 20 },
  },
  'a neighbour for three seconds': {
    seconds: 60,
    rate: () => 2 * CAPACITY,
    dependency: FAST,
    processor: { everyMs: 60, ownMs: 15, fromMs: 20_000, untilMs: 23_000 },
  },
  'twice beside neighbours': {
    seconds: 120,
    rate: () => CAPACITY,
    dependency: FAST,
    processor: { everyMs: 60, ownMs: 30 },
  },
} satisfies Record<string, Traffic>;

export type Scenario = keyof typeof SCENARIOS;
/** Which loops of the worker shedder are on. */
export type Loops = 'none' | 'ladder' | 'brake' | 'both';
/**
 * What protects the service: loops of a worker shedder, a limit on requests in flight, a fleet shedder, or a brake on a
 * pool.
 */
export type Protection = Loops | 'limit' | keyof typeof CAPACITIES | 'pool' | 'fleet and both';

/** The limit on requests in progress, where there is one. The healthy service has 5 on average. */
const IN_PROGRESS = 40;
const CAPACITIES = { fleet: IN_PROGRESS, 'fleet of 20': 20, 'fleet of 10': 10 };
/** Connections of the pool to the dependency: more than twice what the healthy service uses. */
const CONNECTIONS = 10;

export interface Run extends Result {
  /** The share of critical requests that were served in time. */
  readonly critical: number;
  /** How often the rejected fraction per second turned back by more than 0.2. */
  readonly turns: number;
  /** The ladder's amount at the end. */
  readonly shedAmount: number;
}

export function run(scenario: Scenario, protection: Protection, seed: number): Run {
  const random = seeded(seed);
  const loop = new EventLoop((SCENARIOS[scenario] as Traffic).processor);
  const pool: Pool = { asked: 0 };
  const limiter = limiterOn(loop, pool, protection, random.uniform);
  const limiters = limiter ? [limiter] : [];
  if (protection === 'fleet and both') {
    limiters.push(limiterOn(loop, pool, 'fleet', random.uniform) as Limiter);
  }
  const store = memoryStore({ clock: loop });
  const guard = limiters.length > 0 ? createGuard(limiters, { store }) : undefined;
  const result = serve(loop, random, SCENARIOS[scenario], guard, pool);
  return {
    ...result,
    critical: result.served.critical / result.offered.critical,
    turns: turnsOf(bySecond(result.rejected), 0.2),
    shedAmount: limiter && 'shedAmount' in limiter ? limiter.shedAmount : 0,
  };
}

function limiterOn(
  loop: EventLoop,
  pool: Pool,
  protection: Protection,
  random: () => number,
): Limiter | WorkerShedder | undefined {
  const name = 'model';
  const priority = ({ path }: LimitRequest) => path;
  switch (protection) {
    case 'none':
      return undefined;
    case 'limit':
      return concurrencyLimit({ name, limit: IN_PROGRESS, key: 'dependency', lease: '1h', random });
    case 'fleet':
    case 'fleet of 20':
    case 'fleet of 10': {
      const capacity = CAPACITIES[protection];
      return fleetShedder({ name: 'fleet', capacity, priority, lease: '1h', random });
    }
    case 'pool':
      return workerShedder({
        name,
        ladder: false,
        brake: { signal: signalOf(pool) },
        priority,
        clock: loop,
        random,
      });
    case 'fleet and both':
      return shedderOn(loop, 'both', random);
    default:
      return shedderOn(loop, protection, random);
  }
}

/** The mean over the runs with each seed, so that a table shows one number. */
export function mean(runs: readonly Run[], of: (run: Run) => number): number {
  return runs.reduce((sum, one) => sum + of(one), 0) / runs.length;
}

function shedderOn(
  loop: EventLoop,
  loops: Exclude<Loops, 'none'>,
  random: () => number,
): WorkerShedder {
  return workerShedder({
    name: 'model',
    signal: { ...utilizationOf(loop), wait: waitOf(loop) },
    ...(loops === 'brake' && { ladder: false }),
    ...(loops === 'ladder' && { brake: false }),
    priority: (request) => request.path,
    clock: loop,
    random,
  });
}

/** As docs/shedding.md writes it for a pool of connections. */
function signalOf(pool: Pool): Signal {
  return { name: 'pool', read: () => ({ value: pool.asked / CONNECTIONS, ageMs: 0 }) };
}

/** The wait as the Node signal measures it: the same arithmetic on the model's timer. */
export function waitOf(loop: EventLoop): Signal {
  const meter = new WaitMeter(20, 0, loop.times());
  const listeners: (() => void)[] = [];
  loop.every(20, 0.01, () => {
    meter.fired(loop.nowMs, loop.times());
    loop.enqueue(() => {
      meter.turned(loop.nowMs, loop.times());
      return { busyMs: 0 };
    });
    for (const listener of listeners) listener();
  });
  return {
    name: 'wait',
    read: () => ({
      value: meter.value(loop.nowMs, loop.times(), MARK_MS),
      ageMs: 0,
      spanMs: meter.coveredMs(loop.nowMs),
    }),
    watch: (listener) => listeners.push(listener),
  };
}

export function utilizationOf(loop: EventLoop): Signal & { watch(listener: () => void): void } {
  let since = { nowMs: 0, busyMs: 0 };
  let newest: { value: number; spanMs: number } | undefined;
  const listeners: (() => void)[] = [];
  loop.every(1000, 0.01, () => {
    const spanMs = loop.nowMs - since.nowMs;
    newest = { value: Math.min(1, (loop.busyMs - since.busyMs) / spanMs), spanMs };
    since = { nowMs: loop.nowMs, busyMs: loop.busyMs };
    for (const listener of listeners) listener();
  });
  return {
    name: 'utilization',
    read: () => newest && { ...newest, ageMs: loop.nowMs - since.nowMs },
    watch: (listener) => void listeners.push(listener),
  };
}

function bySecond(tenths: readonly number[]): number[] {
  const seconds = Array.from({ length: Math.floor(tenths.length / 10) }, (_, second) =>
    tenths.slice(second * 10, second * 10 + 10),
  );
  return seconds.map((bins) => bins.reduce((sum, value) => sum + value, 0) / bins.length);
}

/** How often a series turns back by more than `least` from its last extreme. */
export function turnsOf(series: readonly number[], least: number): number {
  let turns = 0;
  let rising = true;
  let extreme = series[0] ?? 0;
  for (const value of series) {
    if (rising ? value > extreme : value < extreme) extreme = value;
    else if (Math.abs(value - extreme) > least) {
      turns += 1;
      rising = !rising;
      extreme = value;
    }
  }
  return turns;
}
