/** A live worker that has not written for this long is blocked and counts as busy. Workers write every second. */
const LATE_MS = 2_500;

/** After this long, a silent worker no longer counts: it has ended, is suspended, or stays blocked. */
const GONE_MS = 8_000;

/** Files that are unchanged for this long are removed. */
const OLD_MS = 60_000;

/** More workers than any machine has. Further files are ignored. */
const MOST_WORKERS = 1_024;

/** A file name: process id, random id, number of writes, and utilization in thousandths. */
const FILE = /^(\d{1,10})-([0-9a-f]{1,16})\.(\d{1,15})\.(\d{1,4})$/;

export function fileNameOf(worker: string, count: number, busy: number): string {
  return `${worker}.${count}.${Math.round(Math.min(Math.max(busy, 0), 1) * 1_000)}`;
}

interface Worker {
  readonly pid: number;
  file: string;
  count: number;
  busy: number;
  countChangedMs: number;
  /** Whether the file name has changed since it was first seen. If not, the process may be long dead. */
  isWriting: boolean;
  round: number;
}

export interface Others {
  readonly busy: number;
  readonly workers: number;
  readonly old: readonly string[];
}

/**
 * Adds up the utilization of the other workers. Each worker has a file with its utilization in the name, and renames
 * the file every second. One listing reads all workers, and renames are atomic. Clocks are not compared: each reader
 * measures how long a name stays unchanged.
 *
 * Other ways cost more: messages need code in the parent process, sockets need a server, and numbers in files need a
 * read for each worker. Containers that share the folder, but not process ids, count only some workers.
 */
export class Roster {
  private readonly workers = new Map<string, Worker>();
  private round = 0;
  private readonly own: string;
  private readonly isAlive: (pid: number) => boolean;

  constructor(own: string, isAlive: (pid: number) => boolean) {
    this.own = own;
    this.isAlive = isAlive;
  }

  see(files: readonly string[], nowMs: number): Others {
    this.round += 1;
    for (const file of files.slice(0, MOST_WORKERS)) this.noteFile(file, nowMs);
    const old: string[] = [];
    let busy = 0;
    let workers = 0;
    for (const [id, worker] of this.workers) {
      const unchangedMs = nowMs - worker.countChangedMs;
      // A listing may miss a file during its rename.
      if (this.round - worker.round > 1) this.workers.delete(id);
      else if (unchangedMs > OLD_MS) old.push(worker.file);
      else if (worker.isWriting && unchangedMs <= GONE_MS && this.isAlive(worker.pid)) {
        workers += 1;
        busy += unchangedMs > LATE_MS ? 1 : worker.busy;
      }
    }
    return { busy, workers, old };
  }

  private noteFile(file: string, nowMs: number): void {
    const [, pid, random, count, busy] = FILE.exec(file) ?? [];
    const id = `${pid}-${random}`;
    if (pid === undefined || id === this.own) return;
    const read = { file, count: Number(count), busy: Math.min(Number(busy) / 1_000, 1) };
    const known = this.workers.get(id);
    if (!known) {
      const worker = {
        pid: Number(pid),
        ...read,
        countChangedMs: nowMs,
        isWriting: false,
        round: this.round,
      };
      this.workers.set(id, worker);
      return;
    }
    known.round = this.round;
    // A listing may also contain both names of a renamed file.
    if (read.count > known.count) {
      Object.assign(known, read, { countChangedMs: nowMs, isWriting: true });
    }
  }
}
