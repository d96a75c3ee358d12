/** The little of Node that its signals need. */

import { outside } from '../base/host.js';

/** What `performance.eventLoopUtilization` counts since the process started, in milliseconds. */
export interface LoopTimes {
  readonly idle: number;
  readonly active: number;
  /** Processor time, where the host counts it. */
  readonly cpu?: number | undefined;
  /** Connections that were accepted so far, where the host tells. */
  readonly accepted?: number | undefined;
}

/** In microseconds. */
interface CpuTimes {
  readonly user: number;
  readonly system: number;
}

interface Channels {
  subscribe(name: string, listener: () => void): void;
  unsubscribe(name: string, listener: () => void): void;
}

interface Process {
  getBuiltinModule?(name: string): unknown;
  threadCpuUsage?(): CpuTimes;
  cpuUsage?(): CpuTimes;
}

declare const performance: {
  now(): number;
  eventLoopUtilization?(): LoopTimes;
};
declare function setInterval(callback: () => void, ms: number): { unref?(): void };
declare function clearInterval(timer: unknown): void;

/** Milliseconds of a clock that never runs backwards. */
export function monotonicMs(): number {
  return performance.now();
}

/** How long the event loop was idle and active so far; undefined on a host that does not count it. */
export function loopTimes(): LoopTimes | undefined {
  const times = performance.eventLoopUtilization?.();
  return times && { idle: times.idle, active: times.active, cpu: processorMs(), accepted };
}

/** Connections that this thread accepted while somebody counted them. */
let accepted = 0;
let counting = 0;
const countOne = (): void => {
  accepted += 1;
};

/** Counts the connections that are accepted, where the host tells of them; returns how to stop. */
export function countConnections(): () => void {
  const { process } = globalThis as { process?: Process };
  const channels = process?.getBuiltinModule?.('node:diagnostics_channel') as Channels | undefined;
  if (counting === 0) channels?.subscribe('net.server.socket', countOne);
  counting += 1;
  return () => {
    counting -= 1;
    if (counting === 0) channels?.unsubscribe('net.server.socket', countOne);
  };
}

/** Processor time of this thread or, before Node 23.9, of all threads of the process. */
function processorMs(): number | undefined {
  const { process } = globalThis as { process?: Process };
  const used = process?.threadCpuUsage?.() ?? process?.cpuUsage?.();
  return used && (used.user + used.system) / 1000;
}

/** Calls back each period without keeping the process alive; returns how to stop. */
export function every(periodMs: number, callback: () => void): () => void {
  const timer = outside(() => setInterval(callback, periodMs));
  timer.unref?.();
  return () => clearInterval(timer);
}
