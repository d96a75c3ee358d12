import type { Duration, HostSignal } from '@spillway/core';

export type { HostSignal } from '@spillway/core';

/** A reserved slot: the instant when work may start. */
export interface Reservation {
  readonly allowed: true;
  readonly key: string;
  /** How long to wait from now, in milliseconds. */
  readonly delayMs: number;
  /** When the slot starts, in milliseconds since the epoch, by the clock of `Date.now()`. */
  readonly startAt: number;
  /**
   * Gives the slot back, unless a later slot of the key is already taken. After the start of the slot it does nothing.
   */
  cancel(): void;
}

/** A rejected reservation. Nothing was taken, unless the store took a slot and its answer was lost. */
export interface Unreserved {
  readonly allowed: false;
  readonly key: string;
  /**
   * `wait`: the wait is longer than `maxWait` · `blocked`: an operator blocks the key · `closed`: the shaper was closed
   * · `store-error`: the store did not answer, and `onStoreError` is `'deny'`.
   */
  readonly reason: 'wait' | 'blocked' | 'closed' | 'store-error';
  /**
   * How long the wait would have been, in milliseconds. For `blocked`, the time until the block ends, or Infinity if it
   * has no end; for `closed` and `store-error`, Infinity.
   */
  readonly wouldWaitMs: number;
}

/** How waiting jobs are ranked. */
export interface WaitOptions {
  /**
   * A finite number. Jobs with a higher priority overtake waiting jobs of the same key and cost in this process.
   * Without `maxConcurrent`, they overtake only jobs that can still start within `maxWait`. Default 0.
   */
  readonly priority?: number | undefined;
}

/** What a job or reservation costs. `Pace` is a union of names if there are several paces. */
export interface ShaperCost<Pace extends string = never> {
  /**
   * Units of the job: an integer from 1 to the burst. With several paces, the units of each, as in `{ tokens: 900 }`.
   * Default 1.
   */
  readonly cost?: Units<Pace> | undefined;
}

/** A number; with several paces, one number for each pace. */
type Units<Pace extends string> = [Pace] extends [never]
  ? number
  : { readonly [Name in Pace]?: number | undefined };

/** Options of one job. */
export interface ScheduleOptions<Pace extends string = never>
  extends WaitOptions,
    ShaperCost<Pace> {
  /** Aborts the wait, and is also passed to the work. */
  readonly signal?: HostSignal | undefined;
}

/** A running job, passed to its work as the second argument. */
export interface RunningJob<Pace extends string = never> {
  /**
   * Corrects the cost of the job when its real units are known. Units above the cost are charged, and delay later jobs
   * by at most `maxWait`. Unused units are given back, unless a later slot of the same key and pace is already taken.
   * With several paces, only those that `units` names are corrected. Each pace can be settled once; later calls for it
   * do nothing.
   *
   * @throws SpillwayError `SPW_COST_INVALID` unless units are integers from 0 to 1,000,000,000; `SPW_OPTION_UNKNOWN`
   * for an unknown pace
   */
  settle(units: Units<Pace>): void;
}

/** What a shaper knows about a key. */
export interface ShaperStats {
  /** Jobs that wait in this process. */
  readonly waiting: number;
  /** Jobs that run in this process. */
  readonly running: number;
  /** With `maxConcurrent`: jobs that run in all processes; null if the store does not answer. */
  readonly runningInFleet?: number | null;
  /**
   * When a job of one unit could start if it came now, in milliseconds since the epoch; null if unknown. Blocks by an
   * operator and the wait for a permit are not included.
   */
  readonly nextStartMs: number | null;
  /** When the pause of the key ends, in milliseconds since the epoch; null without a pause. */
  readonly pausedUntilMs: number | null;
  /** The `by` that was passed to {@link Shaper.pause} for this pause, in any process; null if unknown. */
  readonly pausedBy: string | null;
}

/** The jobs that were left when {@link Shaper.drain} ended. */
export interface Drained {
  /** Waiting jobs, which were rejected. */
  readonly rejected: number;
  /** Jobs that still run. */
  readonly running: number;
}

/** Starts work at a pace, by key. `Pace` is a union of names if there are several paces. */
export interface Shaper<Pace extends string = never> {
  readonly name: string;
  /**
   * Units per window, as declared or as set live; a billion without a pace. With several paces, this is the limit of
   * the pace with the longest time per unit.
   */
  readonly limit: number;
  /** The window of the pace that {@link limit} describes, in milliseconds. */
  readonly windowMs: number;
  /**
   * How many units may start at once after an idle time, in the pace that {@link limit} describes. No job can cost more
   * units of that pace, unless a `plan` sets another burst for its key.
   */
  readonly burst: number;
  /**
   * The time per unit of the pace that {@link limit} describes: `windowMs / limit`. Without a pace, a billionth of a
   * millisecond.
   */
  readonly periodMs: number;
  /** How many jobs of a key may run at once, as declared or as set live; Infinity without `maxConcurrent`. */
  readonly maxConcurrent: number;
  /**
   * Reserves the next slot, if its wait is at most `maxWait`. Rejects for invalid arguments, and with
   * `SPW_SHAPER_RESERVE` if the shaper has `maxConcurrent`, because the shaper cannot know when the work of a
   * reservation ends.
   */
  reserve(key: string, options?: ShaperCost<Pace>): Promise<Reservation | Unreserved>;
  /**
   * Tries the keys in this order, and reserves the next slot of the first key whose wait is at most `maxWait`. If there
   * is none, resolves to the rejection with the shortest wait. Rejects like {@link reserve}, and with
   * `SPW_GROUP_TOO_LARGE` for more than 1,000 different keys.
   */
  reserveFirst(
    keys: readonly string[],
    options?: ShaperCost<Pace>,
  ): Promise<Reservation | Unreserved>;
  /**
   * Waits for a slot, runs the work, and settles as the work does. The work receives `signal` (or a signal that is
   * never aborted), and the job, whose cost it can correct.
   *
   * Rejects with `SPW_SHAPER_FULL`, `SPW_SHAPER_WAIT`, `SPW_SHAPER_BLOCKED`, `SPW_SHAPER_CLOSED` or
   * `SPW_STORE_UNAVAILABLE` if the job cannot start. If `signal` is aborted, it rejects with the reason of the signal.
   */
  schedule<T>(
    key: string,
    work: (signal: HostSignal, job: RunningJob<Pace>) => T | PromiseLike<T>,
    options?: ScheduleOptions<Pace>,
  ): Promise<T>;
  /**
   * Runs a task that schedules jobs one after the other, such as a call and its retries. {@link onIdle}, {@link drain}
   * and {@link close} wait until the task has ended. While the shaper drains, it still accepts jobs that the task
   * schedules with the given function, if the task began before.
   */
  runTask<T>(run: (schedule: Shaper<Pace>['schedule']) => Promise<T>): Promise<T>;
  /**
   * How long a job of one unit and this priority would wait if it came now, in milliseconds. The result includes
   * pauses, but no blocks by an operator, and not the wait for a permit, which is unknown. Infinity if the store does
   * not answer and there is no fallback. Takes no slot.
   */
  waitOf(key: string, options?: WaitOptions): Promise<number>;
  /**
   * The numbers for a key, from live settings, its plan or the declaration. With several paces, `periodMs` is the
   * longest of their periods.
   *
   * @throws SpillwayError `SPW_KEY_INVALID`
   */
  paceOf(key: string): Pick<Shaper, 'periodMs' | 'maxConcurrent'>;
  /**
   * How much longer the key is paused, in milliseconds; 0 if it is not paused. While the store does not answer, only
   * pauses known to this process count.
   */
  pauseOf(key: string): Promise<number>;
  /** How many jobs of the key wait in this process. */
  queueLength(key: string): number;
  /** How many jobs wait in this process, over all keys. */
  readonly waiting: number;
  /** How many jobs run in this process, over all keys. */
  readonly running: number;
  /**
   * What is known about a key, for health pages. Takes no slot. With a store other than the memory store, returns a
   * promise.
   *
   * @throws SpillwayError `SPW_KEY_INVALID`
   */
  stats(key: string): ShaperStats | Promise<ShaperStats>;
  /**
   * Holds back all starts of the key for this time (0 to 24 h), in every process. Other processes may still start jobs
   * for about 50 ms, and reservations keep their slots. Another pause can extend this one, but never shorten it.
   * Rejects with `SPW_STORE_UNAVAILABLE` if the store does not answer. Then only this process pauses, and sends the
   * pause again while it lasts.
   *
   * @param by who or what pauses, shown as {@link ShaperStats.pausedBy}, and cut to 256 UTF-16 units
   */
  pause(key: string, duration: Duration, by?: string): Promise<void>;
  /** Resolves when no job waits or runs in this process, and no task. */
  onIdle(): Promise<void>;
  /**
   * For a shutdown: rejects new jobs with `SPW_SHAPER_CLOSED`, and lets waiting jobs start. Resolves when all jobs and
   * tasks have ended or `timeout` (0 to 24 h) has passed, and no call to the store is pending. Jobs that still wait
   * after `timeout` are rejected as by {@link close}.
   */
  drain(timeout: Duration): Promise<Drained>;
  /**
   * Rejects all waiting and new jobs, and cancels their slots. Resolves when all running work has ended, however long
   * that takes.
   */
  close(): Promise<void>;
}
