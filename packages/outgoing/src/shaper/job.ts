import { checkOptions, mustBe, type NamesOf } from '@spillway/core/adapter';
import { checkHas, getOrMake } from '@spillway/core/direct';
import type { HostSignal, RunningJob, ScheduleOptions, WaitOptions } from './contract.js';
import type { Cost } from './paces.js';

export type Work = (signal: HostSignal, job: RunningJob) => unknown;

declare const AbortController: new () => { readonly signal: HostSignal };

interface Signal {
  readonly aborted: boolean;
  readonly reason: unknown;
  addEventListener(type: 'abort', listener: () => void): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

interface JobOptions {
  readonly key: string;
  readonly cost: Cost;
  readonly priority: number;
  readonly order: number;
  readonly signal: Signal | undefined;
}

export class Job {
  readonly key: string;
  readonly cost: Cost;
  readonly priority: number;
  readonly order: number;
  /**
   * An accepted job must start by this instant of the process's clock. Otherwise its queue rejects it some time later.
   */
  deadlineUs: number = Infinity;
  /** Resolves when the slot of the job has come; rejects if the job is rejected or aborted before. */
  readonly ready: Promise<void>;
  readonly ended: Promise<void>;
  private readonly work: Work;
  private readonly signal: Signal | undefined;
  private resolveReady!: () => void;
  private resolveEnded!: () => void;
  /** Rejects {@link ready} before the start, and the promise of {@link runJob} after it. */
  private rejectResult!: (reason: unknown) => void;
  private waits = true;
  private running: RunningJob | undefined;
  private readonly onAborted: () => void;

  constructor(
    work: Work,
    { key, cost, priority, order, signal }: JobOptions,
    onAborted: (job: Job) => void,
  ) {
    this.work = work;
    this.key = key;
    this.cost = cost;
    this.priority = priority;
    this.order = order;
    this.signal = signal;
    this.onAborted = () => onAborted(this);
    this.ready = new Promise((resolve, reject) => {
      this.resolveReady = resolve;
      this.rejectResult = reject;
    });
    this.ended = new Promise((resolve) => {
      this.resolveEnded = resolve;
    });
    if (signal) addAbortListener(signal, this.abort);
  }

  get isWaiting(): boolean {
    return this.waits;
  }

  get isAborted(): boolean {
    return this.signal?.aborted === true;
  }

  reject(error: Error): void {
    this.stopWaiting();
    this.rejectResult(error);
  }

  start(running: RunningJob): void {
    this.waits = false;
    this.running = running;
    this.resolveReady();
  }

  /**
   * Runs the work. The promise settles as the work does, or as soon as the job is aborted. The work must run in the
   * async context of the caller of `schedule`. So call this in an async function that `schedule` calls, when
   * {@link ready} has resolved.
   */
  runJob(): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.rejectResult = reject;
      void this.runWork().then(resolve, reject).then(this.resolveEnded);
    });
  }

  private async runWork(): Promise<unknown> {
    const { signal } = this;
    try {
      if (this.isAborted) throw signal?.reason; // aborted after its slot came
      const given = (signal ?? new AbortController().signal) as HostSignal;
      return await this.work(given, this.running as RunningJob);
    } finally {
      this.stopWaiting();
    }
  }

  private readonly abort = (): void => {
    this.stopWaiting();
    this.rejectResult(this.signal?.reason);
    this.onAborted();
  };

  private stopWaiting(): void {
    this.waits = false;
    if (this.signal) removeAbortListener(this.signal, this.abort);
  }
}

type Rank = Pick<Job, 'priority' | 'order'>;

export function goesBefore(job: Rank, other: Rank): boolean {
  return (
    job.priority > other.priority || (job.priority === other.priority && job.order < other.order)
  );
}

interface SharedListener {
  readonly callbacks: Set<() => void>;
  readonly listener: () => void;
}

/** Many jobs can share a signal. Each signal gets only one listener, because Node.js warns about many. */
const bySignal = new WeakMap<Signal, SharedListener>();

function addAbortListener(signal: Signal, callback: () => void): void {
  const shared = getOrMake(bySignal, signal, () => {
    const callbacks = new Set<() => void>();
    const listener = () => {
      for (const one of [...callbacks]) one();
    };
    signal.addEventListener('abort', listener);
    return { callbacks, listener };
  });
  shared.callbacks.add(callback);
}

function removeAbortListener(signal: Signal, callback: () => void): void {
  const shared = bySignal.get(signal);
  if (!shared?.callbacks.delete(callback) || shared.callbacks.size > 0) return;
  bySignal.delete(signal);
  signal.removeEventListener('abort', shared.listener);
}

const WAIT_OPTIONS: NamesOf<WaitOptions> = { priority: 1 };

const SCHEDULE_OPTIONS: NamesOf<ScheduleOptions<string>> = { cost: 1, signal: 1, priority: 1 };

export function checkJobOptions(options: ScheduleOptions<string> | undefined): void {
  if (options !== undefined) checkOptions(options, 'a job', SCHEDULE_OPTIONS);
}

export function readPriority(options: WaitOptions | undefined): number {
  if (options === undefined) return 0;
  checkOptions(options, 'waitOf', WAIT_OPTIONS);
  return checkPriority(options);
}

function checkPriority({ priority = 0 }: WaitOptions): number {
  if (!Number.isFinite(priority)) throw mustBe('priority', 'a number', priority);
  return priority;
}

export function readJobOptions(
  options: ScheduleOptions<string>,
): Pick<JobOptions, 'priority' | 'signal'> {
  const { signal } = options;
  const priority = checkPriority(options);
  checkHas('signal', 'addEventListener', signal);
  checkHas('signal', 'removeEventListener', signal);
  return { priority, signal: signal as Signal | undefined };
}
