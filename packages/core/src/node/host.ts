/** The little of Node that its signals need. */

/** What `performance.eventLoopUtilization` counts since the process started, in milliseconds. */
export interface LoopTimes {
  readonly idle: number;
  readonly active: number;
  /** Processor time, where the host counts it. */
  readonly cpu?: number | undefined;
}

/** In microseconds. */
interface CpuTimes {
  readonly user: number;
  readonly system: number;
}

interface Process {
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
  return times && { idle: times.idle, active: times.active, cpu: processorMs() };
}

/** Processor time of this thread or, before Node 23.9, of all threads of the process. */
function processorMs(): number | undefined {
  const { process } = globalThis as { process?: Process };
  const used = process?.threadCpuUsage?.() ?? process?.cpuUsage?.();
  return used && (used.user + used.system) / 1000;
}

/** Calls back each period without keeping the process alive; returns how to stop. */
export function every(periodMs: number, callback: () => void): () => void {
  const timer = setInterval(callback, periodMs);
  timer.unref?.();
  return () => clearInterval(timer);
}
