import { checkOptions } from '../base/check-shapes.js';
import { mustBe, SpillwayError } from '../base/errors.js';
import type { NamesOf } from '../base/option-names.js';
import type { Reading } from '../shed/load-signal.js';
import { type MachineHost, machineHost, monotonicMs } from './host.js';
import { fileNameOf, type Others, Roster } from './machine-roster.js';
import { eventLoopSignal } from './utilization.js';
import type { TimedSignal } from './wait.js';

export interface MachineSignalOptions {
  /**
   * The name of a group of workers: 1 to 64 characters of `A-Z a-z 0-9 _ -`. All processes and worker threads with this
   * name, of one machine and user, are measured together.
   */
  readonly name: string;
  /**
   * The folder for the workers' empty files; only this user may write to it. Set it if workers of a group have
   * different temporary directories (`PrivateTmp`, `TMPDIR`). Default: a folder in the system's temporary directory.
   */
  readonly directory?: string | undefined;
}

const NAMES: NamesOf<MachineSignalOptions> = { name: 1, directory: 1 };

/** The utilization of a group of workers of one machine. */
export interface MachineSignal extends TimedSignal {
  /** Number of workers in the latest reading, including this one; 0 before the first. */
  readonly workers: number;
}

/**
 * The utilization of this machine's workers in the last second, 0 to 1: the mean of the event loop utilizations of all
 * processes and worker threads with the same name. Use it as the ladder's signal if all workers of a machine should
 * shed together, like Stripe's worker utilization load shedder. It works for `node:cluster`, PM2, `worker_threads` and
 * unrelated processes.
 *
 * Once a second, each worker renames its empty file in a shared folder and lists the folder; requests cause no I/O. A
 * killed process stops counting within a second. A worker with a blocked event loop, or a terminated worker thread,
 * counts as busy after 2.5 s, and no longer counts after 8 s. If the folder can't be used, there is no reading, and
 * shedders report a fault of source `signal`.
 *
 * @throws SpillwayError `SPW_OPTION_INVALID`, `SPW_OPTION_UNKNOWN`
 * @example
 * ```ts
 * import { workerShedder } from '@spillway/core';
 * import { eventLoopWaitSignal, machineSignal } from '@spillway/core/node';
 *
 * const machine = machineSignal({ name: 'api' });
 * workerShedder({ name: 'workers', ladder: { signal: machine }, brake: { signal: eventLoopWaitSignal() } });
 * machine.close(); // on shutdown; its timer never keeps the process alive
 * ```
 */
export function machineSignal(options: MachineSignalOptions): MachineSignal {
  checkOptions(options, 'machineSignal()', NAMES);
  const { name, directory } = options;
  if (typeof name !== 'string' || !/^[\w-]{1,64}$/.test(name)) {
    throw mustBe('name', '1 to 64 of A-Z a-z 0-9 _ -', name);
  }
  if (directory !== undefined && (typeof directory !== 'string' || directory === '')) {
    throw mustBe('directory', 'the path of a folder', directory);
  }
  return new SharedUtilization(name, directory);
}

class SharedUtilization implements MachineSignal {
  readonly name = 'machine-utilization';
  workers = 0;
  private readonly own = eventLoopSignal();
  private readonly listeners = new Set<() => void>();
  private readonly group: string;
  private readonly directory: string | undefined;
  private folder: Folder | undefined;
  private newest: { readonly value: number; readonly spanMs: number | undefined } | undefined;
  private measuredMs = 0;
  private failure: unknown;
  private isSharing = false;
  private isClosed = false;
  private stop: (() => void) | undefined;

  constructor(group: string, directory: string | undefined) {
    this.group = group;
    this.directory = directory;
  }

  read(): Reading | undefined {
    this.start();
    if (this.failure !== undefined && !this.isClosed) throw this.failure;
    if (!this.newest || this.isClosed) return undefined;
    const { value, spanMs } = this.newest;
    const ageMs = monotonicMs() - this.measuredMs;
    return spanMs === undefined ? { value, ageMs } : { value, ageMs, spanMs };
  }

  watch(listener: () => void): () => void {
    this.start();
    const own = (): void => listener();
    this.listeners.add(own);
    return () => void this.listeners.delete(own);
  }

  close(): void {
    this.isClosed = true;
    this.stop?.();
    this.own.close();
    this.listeners.clear();
    if (!this.isSharing) void this.folder?.leave();
  }

  private start(): void {
    if (!this.isClosed) this.stop ??= this.own.watch(() => void this.share());
  }

  private async share(): Promise<void> {
    const own = this.own.read();
    if (!own || this.isSharing) return;
    this.isSharing = true;
    const measuredMs = monotonicMs();
    try {
      this.folder ??= new Folder(machineHost(), this.group, this.directory);
      const others = await this.folder.exchange(own.value);
      this.workers = others.workers + 1;
      this.newest = { value: (others.busy + own.value) / this.workers, spanMs: own.spanMs };
      this.measuredMs = measuredMs;
      this.failure = undefined;
    } catch (error) {
      this.failure = error;
    }
    this.isSharing = false;
    if (this.isClosed) void this.folder?.leave();
    else for (const listener of this.listeners) listener();
  }
}

class Folder {
  private readonly host: MachineHost;
  private readonly path: string;
  /** Of the names of the group's files, because groups may share a folder. */
  private readonly prefix: string;
  private readonly worker: string;
  private readonly roster: Roster;
  private isOpen = false;
  private count = 0;
  private file: string | undefined;

  constructor(host: MachineHost, group: string, directory: string | undefined) {
    this.host = host;
    this.path = directory ?? `${host.temporary}/spillway-${host.uid ?? 'workers'}-${group}`;
    this.prefix = `${group}.`;
    this.worker = `${host.pid}-${Math.floor(Math.random() * 2 ** 48).toString(16)}`;
    this.roster = new Roster(this.worker, host.isAlive);
  }

  async exchange(busy: number): Promise<Others> {
    if (!this.isOpen) await this.openFolder();
    this.isOpen = false; // a failure leaves it false, so the next call recreates a removed folder
    this.count += 1;
    const before = this.file;
    this.file = fileNameOf(this.worker, this.count, busy);
    await (before === undefined ? this.createFile(this.file) : this.rename(before, this.file));
    const { prefix } = this;
    const files = (await this.host.files.readdir(this.path)).filter((it) => it.startsWith(prefix));
    const names = files.map((it) => it.slice(prefix.length));
    const others = this.roster.see(names, monotonicMs());
    for (const file of others.old) await this.removeFile(file);
    this.isOpen = true;
    return others;
  }

  async leave(): Promise<void> {
    if (this.file !== undefined) await this.removeFile(this.file);
    this.file = undefined;
  }

  private async openFolder(): Promise<void> {
    const { path } = this;
    const { files, uid } = this.host;
    await files.mkdir(path, { recursive: true, mode: 0o700 });
    // Another user may have created a folder of this name in /tmp.
    const found = await files.lstat(path);
    const isOwn = uid === undefined || (found.uid === uid && (found.mode & 0o022) === 0);
    if (found.isDirectory() && isOwn) return;
    throw new SpillwayError(
      'SPW_OPTION_INVALID',
      `directory of machineSignal must be a folder that only its own user can write to, got ${path}`,
    );
  }

  private createFile(file: string): Promise<void> {
    return this.host.files.writeFile(this.pathOf(file), '', { mode: 0o600 });
  }

  private rename(from: string, to: string): Promise<void> {
    return this.host.files
      .rename(this.pathOf(from), this.pathOf(to))
      .catch(() => this.createFile(to)); // `from` was removed
  }

  private removeFile(file: string): Promise<void> {
    return this.host.files.unlink(this.pathOf(file)).catch(() => undefined);
  }

  private pathOf(file: string): string {
    return `${this.path}/${this.prefix}${file}`;
  }
}
