import type { Job } from './job.js';
import { PendingCalls } from './pending-calls.js';

export class Jobs {
  private readonly waitingJobs = new Set<Job>();
  private readonly runningJobs = new Set<Job>();
  private readonly all = new PendingCalls();

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

  addJob(job: Job): void {
    this.waitingJobs.add(job);
    void this.all.track(job.ready.then(() => job.ended));
  }

  addTask<T>(task: Promise<T>): Promise<T> {
    return this.all.track(task) as Promise<T>;
  }

  /** Counts the job as running until its work has ended, even if it is aborted before. */
  start(job: Job): void {
    this.waitingJobs.delete(job);
    this.runningJobs.add(job);
    void job.ended.then(() => this.runningJobs.delete(job));
  }

  stopWaiting(job: Job): void {
    this.waitingJobs.delete(job);
  }

  rejectWaiting(error: () => Error): void {
    for (const job of this.waitingJobs) job.reject(error());
    this.waitingJobs.clear();
  }

  idle(): Promise<void> {
    return this.all.whenIdle();
  }
}
