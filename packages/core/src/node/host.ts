import { outside } from '../base/host.js';

/** Running totals; the times are in milliseconds. `idle` and `active` come from `performance.eventLoopUtilization`. */
export interface LoopTimes {
  readonly idle: number;
  readonly active: number;
  readonly cpu?: number | undefined;
  /** The number of connections that this thread has accepted while {@link countConnections} was in use. */
  readonly accepted?: number | undefined;
}

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
  readonly pid: number;
  getuid?(): number;
  kill(pid: number, signal: 0): unknown;
}

declare const performance: { now(): number; eventLoopUtilization?(): LoopTimes };
declare function setInterval(callback: () => void, ms: number): { unref?(): void };
declare function clearInterval(timer: unknown): void;

export function monotonicMs(): number {
  return performance.now();
}

export function loopTimes(): LoopTimes | undefined {
  const times = performance.eventLoopUtilization?.();
  return times && { idle: times.idle, active: times.active, cpu: processorMs(), accepted };
}

let accepted = 0;
let counting = 0;
const countOne = (): void => {
  accepted += 1;
};

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

/** CPU time of this thread; without `threadCpuUsage` (Node before 23.9), of the whole process. */
function processorMs(): number | undefined {
  const { process } = globalThis as { process?: Process };
  const used = process?.threadCpuUsage?.() ?? process?.cpuUsage?.();
  return used && (used.user + used.system) / 1000;
}

export function every(periodMs: number, callback: () => void): () => void {
  const timer = outside(() => setInterval(callback, periodMs));
  timer.unref?.();
  return () => clearInterval(timer);
}

interface Files {
  mkdir(path: string, options: { recursive: true; mode: number }): Promise<unknown>;
  lstat(path: string): Promise<{ isDirectory(): boolean; uid: number; mode: number }>;
  readdir(path: string): Promise<string[]>;
  rename(from: string, to: string): Promise<void>;
  writeFile(path: string, text: string, options: { mode: number }): Promise<void>;
  unlink(path: string): Promise<void>;
}

export interface MachineHost {
  readonly files: Files;
  readonly temporary: string;
  readonly pid: number;
  /** Undefined on Windows. */
  readonly uid: number | undefined;
  isAlive(pid: number): boolean;
}

export function machineHost(): MachineHost {
  const { process } = globalThis as { process?: Process };
  const fs = process?.getBuiltinModule?.('node:fs') as { promises: Files } | undefined;
  const os = process?.getBuiltinModule?.('node:os') as { tmpdir(): string } | undefined;
  if (!process || !fs || !os) throw new Error('the modules node:fs and node:os are not available');
  const isAlive = (pid: number): boolean => {
    try {
      process.kill(pid, 0);
      return true;
    } catch (error) {
      return (error as { code?: unknown }).code === 'EPERM'; // the process is alive, but belongs to another user
    }
  };
  const uid = process.getuid?.();
  return { files: fs.promises, temporary: os.tmpdir(), pid: process.pid, uid, isAlive };
}
