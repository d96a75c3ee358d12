/** The jobs of a shaper in this process: those that wait, and those that run. */

import type { Job } from './job.js';

export class Jobs {
  private readonly waitingJobs = new Set<Job>();
  private readonly runningJobs = new Set<Job>();
  private whenIdle: (() => void)[] = [];

  get waiting(): number {
    return this.waitingJobs.size;
  }

  get running(): number {
    return this.runningJobs.size;
  }

  runningOf(key: string): number {
    let count = 0;
    for (const job of this.runningJobs) if (job.key === key) count += 1;
    return count;
  }

  add(job: Job): void {
    this.waitingJobs.add(job);
  }

  /** An aborted job runs until its work has ended. */
  start(job: Job): void {
    this.waitingJobs.delete(job);
    this.runningJobs.add(job);
    void job.ended.then(() => {
      this.runningJobs.delete(job);
      this.tellIdle();
    });
  }

  /** The job was rejected or aborted. */
  stopWaiting(job: Job): void {
    this.waitingJobs.delete(job);
    this.tellIdle();
  }

  rejectWaiting(error: () => Error): void {
    for (const job of this.waitingJobs) job.reject(error());
    this.waitingJobs.clear();
    this.tellIdle();
  }

  /** Resolves when no job waits or runs. */
  async idle(): Promise<void> {
    if (this.waiting + this.running === 0) return;
    await new Promise<void>((resolve) => this.whenIdle.push(resolve));
  }

  /** Resolves when the jobs that run now have ended. */
  async runningEnd(): Promise<void> {
    await Promise.all([...this.runningJobs].map(({ ended }) => ended));
  }

  private tellIdle(): void {
    if (this.waiting + this.running > 0) return;
    for (const resolve of this.whenIdle.splice(0)) resolve();
  }
}
