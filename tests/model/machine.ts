/** Workers of one machine on the model, each with a separate event loop. They may share their utilization. */

import {
  createGuard,
  type LimitRequest,
  memoryStore,
  type Signal,
  type WorkerShedder,
  workerShedder,
} from '@spillway/core';
import { seeded } from 'spillway-testkit';
import { fileNameOf, Roster } from '../../packages/core/src/node/machine-roster.js';
import { EventLoop } from './event-loop.js';
import { utilizationOf, waitOf } from './scenarios.js';
import { begin, CAPACITY, type Result } from './service.js';

export interface MachineRun {
  /** One for each worker. */
  readonly workers: readonly Result[];
  /** In each second, the ladder's amount in each worker. */
  readonly amounts: readonly (readonly number[])[];
}

interface Options {
  /** What each worker is offered, as a multiple of what it can serve. */
  readonly loads: readonly number[];
  readonly seconds: number;
  readonly ladder: 'machine' | 'own';
  readonly brake: boolean;
  /** When the last worker is killed, in seconds; undefined if never. */
  readonly killedAt?: number;
  readonly seed: number;
}

const STEP_MS = 10;

export function runMachine(options: Options): MachineRun {
  const { loads, seconds, killedAt = Number.POSITIVE_INFINITY, seed } = options;
  const folder = new Map<string, string>();
  let nowMs = 0;
  const isKilled = (at: number): boolean => at === loads.length - 1 && nowMs >= killedAt * 1_000;
  const workers = loads.map((load, at) => {
    const random = seeded(seed + at);
    const loop = new EventLoop();
    const shared = shareOf(loop, at, folder, isKilled);
    const shedder: WorkerShedder = workerShedder({
      name: 'model',
      ladder: { signal: options.ladder === 'machine' ? shared : utilizationOf(loop) },
      brake: options.brake && { signal: waitOf(loop) },
      priority: ({ path }: LimitRequest) => path,
      clock: loop,
      random: random.uniform,
    });
    const guard = createGuard([shedder], { store: memoryStore({ clock: loop }) });
    const traffic = { seconds, rate: () => load * CAPACITY, dependency: { meanMs: 20 } };
    return { loop, shedder, result: begin(loop, random, traffic, guard) };
  });
  const amounts: number[][] = [];
  while (nowMs < seconds * 1_000) {
    nowMs += STEP_MS;
    for (const [at, { loop }] of workers.entries()) if (!isKilled(at)) loop.runUntil(nowMs);
    if (nowMs % 1_000 === 0) amounts.push(workers.map(({ shedder }) => shedder.shedAmount));
  }
  return { workers: workers.map(({ result }) => result()), amounts };
}

/** As machineSignal does: the same names and the same roster, in a folder that is a map. */
function shareOf(
  loop: EventLoop,
  at: number,
  folder: Map<string, string>,
  isKilled: (at: number) => boolean,
): Signal {
  const own = utilizationOf(loop);
  const worker = `${at + 1}-${at + 1}`;
  const roster = new Roster(worker, (pid) => !isKilled(pid - 1));
  const listeners: (() => void)[] = [];
  let count = 0;
  let value: number | undefined;
  own.watch(() => {
    const { value: busy } = own.read() as { value: number };
    count += 1;
    folder.set(worker, fileNameOf(worker, count, busy));
    const others = roster.see([...folder.values()], loop.nowMs);
    value = (others.busy + busy) / (others.workers + 1);
    for (const listener of listeners) listener();
  });
  return {
    name: 'machine',
    read: () => {
      const reading = own.read();
      return reading && value !== undefined ? { ...reading, value } : undefined;
    },
    watch: (listener) => void listeners.push(listener),
  };
}
