/** One piece of work that waits for its start, is refused or aborted, or runs. */

import { offAborted, onAborted, type Signal } from './aborted.js';
import type { HostSignal } from './contract.js';

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
  /** Resolves when the job's slot has come; rejects if the job is refused or aborted before that. */
  readonly turn: Promise<void>;
  /** Resolves when the work has ended, with whatever result. */
  readonly ended: Promise<void>;
  private readonly work: Work;
  private readonly signal: Signal | undefined;
  private takeTurn!: () => void;
  private end!: () => void;
  /** Rejects {@link turn}, and later the result. */
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
    this.turn = new Promise((resolve, reject) => {
      this.takeTurn = resolve;
      this.reject = reject;
    });
    this.ended = new Promise((resolve) => {
      this.end = resolve;
    });
    if (signal) onAborted(signal, this.onAbort);
  }

  /** False once it has started, was refused or aborted. */
  get isWaiting(): boolean {
    return this.waits;
  }

  refuse(error: Error): void {
    this.stopWaiting();
    this.reject(error);
  }

  /** Its slot has come: {@link run} is to be called next. */
  start(): void {
    this.waits = false;
    this.takeTurn();
  }

  /**
   * Runs the work. Settles as the work does, or as soon as the job is aborted.
   *
   * Only the function that awaited {@link turn} may call it: there the async context is that of the job's caller, while
   * {@link start} is called by the alarm, or for somebody else's request.
   */
  run(): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.reject = reject;
      void this.runWork().then(resolve, reject).then(this.end);
    });
  }

  private async runWork(): Promise<unknown> {
    const { signal } = this;
    try {
      if (signal?.aborted) throw signal.reason; // since its slot came
      return await this.work((signal ?? new AbortController().signal) as HostSignal);
    } finally {
      this.stopWaiting();
    }
  }

  private readonly onAbort = (): void => {
    this.stopWaiting();
    this.reject(this.signal?.reason);
    this.stopped();
  };

  private stopWaiting(): void {
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
