/** One piece of work that waits for its start, is refused or aborted, or runs. */

import type { HostSignal } from '../../contract/shaper.js';
import { offAborted, onAborted, type Signal } from './aborted.js';

export type Work = (signal: HostSignal) => unknown;

declare const AbortController: new () => { readonly signal: HostSignal };

export interface JobOptions {
  readonly cost: number;
  readonly priority: number;
  /** Of jobs with one priority, the one with the lowest number goes first. */
  readonly order: number;
  readonly signal: Signal | undefined;
}

export class Job {
  readonly cost: number;
  readonly priority: number;
  readonly order: number;
  /** Accepted jobs start by then, by our clock, or are rejected. */
  deadlineUs: number = Infinity;
  /** Settles as the work does, or as soon as the job is refused or aborted. */
  readonly result: Promise<unknown>;
  private readonly work: Work;
  private readonly signal: Signal | undefined;
  private settle!: (result: unknown) => void;
  private reject!: (reason: unknown) => void;
  private waits = true;
  private readonly stopped: () => void;

  /** @param stopped told if it is aborted, waiting or running */
  constructor(
    work: Work,
    { cost, priority, order, signal }: JobOptions,
    stopped: (job: Job) => void,
  ) {
    this.work = work;
    this.cost = cost;
    this.priority = priority;
    this.order = order;
    this.signal = signal;
    this.stopped = () => stopped(this);
    this.result = new Promise((resolve, reject) => {
      this.settle = resolve;
      this.reject = reject;
    });
    if (signal) onAborted(signal, this.onAbort);
  }

  /** False once it has started, was refused or aborted. */
  get isWaiting(): boolean {
    return this.waits;
  }

  refuse(error: Error): void {
    this.end();
    this.reject(error);
  }

  /** Runs the work; the promise resolves when it has ended, however. */
  async start(): Promise<void> {
    this.waits = false;
    // Later in this turn of the event loop: a job may schedule the next one, and that one another.
    await undefined;
    if (this.signal?.aborted) return;
    try {
      const signal = this.signal ?? new AbortController().signal;
      this.settle(await this.work(signal as HostSignal));
    } catch (error) {
      this.reject(error);
    } finally {
      this.end();
    }
  }

  private readonly onAbort = (): void => {
    this.end();
    this.reject(this.signal?.reason);
    this.stopped();
  };

  private end(): void {
    this.waits = false;
    if (this.signal) offAborted(this.signal, this.onAbort);
  }
}

type Rank = Pick<Job, 'priority' | 'order'>;

/** By priority, then first come. */
export function goesBefore(job: Rank, other: Rank): boolean {
  return (
    job.priority > other.priority || (job.priority === other.priority && job.order < other.order)
  );
}
