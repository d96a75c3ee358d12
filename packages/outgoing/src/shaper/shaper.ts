import type { BreakerEvent, Duration } from '@spillway/core';
import { mustBe } from '@spillway/core/adapter';
import {
  checkCallback,
  checkKey,
  checkLimit,
  DirectClient,
  type Eventually,
  isThenable,
  Turns,
  WallTime,
} from '@spillway/core/direct';
import { durationBetween, MAX_STEPS, makeLeasesRule, tooLarge, within } from '@spillway/core/store';
import type {
  Drained,
  HostSignal,
  Reservation,
  RunningJob,
  ScheduleOptions,
  Shaper,
  ShaperStats,
  Unreserved,
  WaitOptions,
} from './contract.js';
import { checkJobOptions, Job, readJobOptions, readPriority, type Work } from './job.js';
import type { JobQueue, JobQueueHost } from './job-queue.js';
import { Jobs } from './jobs.js';
import { LiveRule } from './live-rule.js';
import {
  blocked,
  closed,
  DecisionReporter,
  full,
  noAnswer,
  safeRandom,
  unreservable,
  waitedTooLong,
  waitTooLong,
} from './outcomes.js';
import { type Cost, Paces, periodOf } from './paces.js';
import { PauseNotes } from './pause-notes.js';
import { PendingCalls } from './pending-calls.js';
import { type Permit, Permits } from './permits.js';
import { Queues } from './queues.js';
import { Reservations } from './reservations.js';
import {
  type ConcurrencyOptions,
  type OnePaceOptions,
  readOptions,
  type SeveralPacesOptions,
  type ShaperConfig,
  type ShaperOptions,
  type ShaperSettings,
} from './shaper-options.js';
import { type Slot, type SlotAnswer, SlotClient } from './slots.js';

/**
 * Makes a shaper: it starts work at a pace, by key, over all processes that share its store. With 4 per second, work
 * starts every 250 ms. Work that comes too early is not rejected, but waits for its slot, at most `maxWait`.
 *
 * - `schedule` waits for a slot, runs the work and settles as the work does. A waiting job keeps the process alive.
 * - `reserve` returns the time at which work may start, and leaves the start to you. `reserveFirst` tries several keys,
 *   and reserves a slot of the first key whose wait is at most `maxWait`. A rejected reservation takes nothing.
 * - `pause` holds back all starts of a key in every process.
 *
 * Jobs with the same key and cost start by priority, then in order of arrival, as long as each accepted job still
 * starts within `maxWait`. If a pause or an outage prevents that, the job is rejected with `SPW_SHAPER_WAIT`.
 *
 * With `maxConcurrent`, at most that many jobs of a key run at once, in all processes, and priority is strict. With
 * `paces`, a job starts when all of them allow it. When the store fails, this process by default keeps `localShare` of
 * the pace.
 *
 * Observers get a decision for each job that starts or is rejected, and for each reservation; `reserveFirst` causes one
 * for each key that it tries. Jobs that are aborted while they wait cause no decision. Jobs and reservations that are
 * rejected because the shaper was closed cause none either.
 *
 * Methods that return promises also reject in these cases; `stats` throws instead:
 *
 * - a key that is not a string of 1 to 8,192 UTF-16 units (`SPW_KEY_INVALID`),
 * - a cost that is not an integer from 1 to the burst (`SPW_COST_INVALID`),
 * - no keys (`SPW_KEY_INVALID`), or more than 1,000 different keys (`SPW_GROUP_TOO_LARGE`), of `reserveFirst`,
 * - another wrong argument or option (`SPW_OPTION_INVALID`, `SPW_OPTION_UNKNOWN`),
 * - `reserve` and `reserveFirst` with `maxConcurrent` (`SPW_SHAPER_RESERVE`).
 *
 * `schedule` rejects with `SPW_SHAPER_WAIT`, `SPW_SHAPER_FULL`, `SPW_SHAPER_BLOCKED` and `SPW_SHAPER_CLOSED`, and with
 * the reason of its signal. If the store fails and `onStoreError` is `deny`, it rejects with `SPW_STORE_UNAVAILABLE`;
 * with `maxConcurrent`, it rejects with `SPW_SHAPER_WAIT` after `maxWait`.
 *
 * @throws SpillwayError `SPW_LIMIT_INVALID`, `SPW_WINDOW_INVALID`, `SPW_BURST_INVALID`, `SPW_NAME_INVALID`,
 * `SPW_NAME_REQUIRED`, `SPW_NAME_CONFLICT`, `SPW_STORE_INVALID`, `SPW_OPTION_INVALID`, `SPW_OPTION_UNKNOWN`
 * @example
 * ```ts run
 * import { createShaper } from '@spillway/outgoing';
 *
 * const calls = createShaper({ limit: 4, window: '1s' });
 * await calls.schedule('acme', () => 'sent'); // 'sent'
 *
 * const next = await calls.reserve('acme');
 * next.allowed; // true
 * const other = await calls.reserveFirst(['umbrella', 'acme']);
 * other.key; // 'umbrella'
 * await calls.close();
 * ```
 */
export function createShaper<Pace extends string>(
  options: SeveralPacesOptions<Pace>,
  settings?: ShaperSettings,
): Shaper<Pace>;
export function createShaper(
  options: OnePaceOptions | ConcurrencyOptions,
  settings?: ShaperSettings,
): Shaper;
export function createShaper(options: ShaperOptions, settings: ShaperSettings = {}): Shaper {
  return new KeyedShaper(options, settings);
}

/** Options with any type of cost, because the types of {@link createShaper} have already checked the cost. */
type AnyOptions = ScheduleOptions | ScheduleOptions<string>;

class KeyedShaper implements Shaper, JobQueueHost {
  readonly name: string;
  readonly slots: SlotClient;
  readonly paces: Paces;
  readonly permits: Permits | undefined;
  private readonly maxQueue: number;
  private readonly queues: Queues;
  private readonly reservations: Reservations;
  private readonly reporter: DecisionReporter;
  private readonly jobs = new Jobs();
  private readonly pauseNotes: PauseNotes;
  private readonly wallTime: WallTime;
  private readonly turns = new Turns();
  private readonly stopListening: () => void;
  private jobCount = 0;
  private stopping: Promise<void> | undefined;

  constructor(options: ShaperOptions, settings: ShaperSettings) {
    const config = readOptions(options, settings);
    const { name, paces, maxConcurrent } = config;
    const names = paces.map((pace) => pace.name);
    const outages = new Outages();
    const own = maxConcurrent === undefined ? [] : [outages];
    const observers = [...new Set([...(settings.observers ?? []), ...own])];
    const client = new DirectClient(names, { ...settings, observers });
    const { clock } = client.store;
    const random = safeRandom(config.random, (error) =>
      client.fault({ limiter: name, source: 'observer', error }),
    );
    const pending = new PendingCalls();
    this.name = name;
    this.maxQueue = config.maxQueue;
    this.paces = new Paces(config, client);
    this.permits =
      maxConcurrent === undefined ? undefined : makePermits({ ...config, random }, client, pending);
    outages.permits = this.permits;
    this.stopListening = () => {
      outages.permits = undefined;
      client.observers.stopListening(outages);
    };
    this.slots = new SlotClient(client, this.paces, this.permits, pending, random());
    this.queues = new Queues(this, clock);
    this.wallTime = new WallTime(clock);
    this.pauseNotes = new PauseNotes(name, client.store);
    const ruleOf = (key: string) =>
      (config.isUnlimited && this.permits
        ? this.permits.live.ruleFor(key)
        : this.paces.inForce(key)
      ).rule;
    this.reporter = new DecisionReporter(name, client, ruleOf, observers);
    this.reservations = new Reservations(
      this.slots,
      this.queues,
      this.paces,
      this.reporter,
      this.wallTime,
    );
  }

  get limit(): number {
    return this.paces.slowest.limit;
  }

  get windowMs(): number {
    return this.paces.slowest.windowUs / 1_000;
  }

  get burst(): number {
    return this.paces.slowest.burst;
  }

  get periodMs(): number {
    return periodOf(this.paces.slowest) / 1_000;
  }

  get maxConcurrent(): number {
    return this.permits?.live.now.rule.limit ?? Infinity;
  }

  reserve(key: string, options?: AnyOptions): Promise<Reservation | Unreserved> {
    let reserved: Promise<Reservation | Unreserved>;
    try {
      reserved = Promise.resolve(this.reservations.reserve(key, this.reservedCost(options, key)));
    } catch (error) {
      reserved = Promise.reject(error);
    }
    return this.turns.after(reserved);
  }

  reserveFirst(keys: readonly string[], options?: AnyOptions): Promise<Reservation | Unreserved> {
    return this.yieldAfter(async () => {
      if (!Array.isArray(keys) || keys.length === 0) {
        throw mustBe('keys', 'a list of at least one key', keys, 'SPW_KEY_INVALID');
      }
      const different = new Set<string>(keys);
      if (different.size > MAX_STEPS) throw tooLarge();
      for (const key of different) checkKey(key);
      return this.reservations.takeFirst([...different], this.costOfFirst(options, different));
    });
  }

  /** With `plan`, keys have different bursts. A cost is invalid only if it exceeds all of them. */
  private costOfFirst(options: AnyOptions | undefined, keys: ReadonlySet<string>): Cost {
    let invalid: unknown;
    for (const key of keys) {
      try {
        return this.reservedCost(options, key);
      } catch (error) {
        invalid ??= error;
      }
    }
    throw invalid;
  }

  private reservedCost(options: AnyOptions | undefined, key: string): Cost {
    if (this.permits) throw unreservable(this.name);
    checkJobOptions(options as ScheduleOptions<string>);
    return this.paces.cost(options?.cost, key);
  }

  schedule<T>(
    key: string,
    work: (signal: HostSignal, job: RunningJob) => T | PromiseLike<T>,
    options?: AnyOptions,
  ): Promise<T> {
    return this.turns.after(this.runJob(!this.reservations.isClosed, key, work, options));
  }

  async runTask<T>(run: (schedule: Shaper['schedule']) => Promise<T>): Promise<T> {
    checkCallback('run', run);
    const isAccepted = !this.reservations.isClosed;
    return this.jobs.addTask(run((...args) => this.turns.after(this.runJob(isAccepted, ...args))));
  }

  private async runJob<T>(
    isAccepted: boolean,
    key: string,
    work: Work,
    options: AnyOptions = {},
  ): Promise<T> {
    checkKey(key);
    checkCallback('work', work);
    checkJobOptions(options as ScheduleOptions<string>);
    const cost = this.paces.cost(options.cost, key);
    const { priority, signal } = readJobOptions(options as ScheduleOptions<string>);
    if (signal?.aborted) throw signal.reason;
    if (!isAccepted || this.stopping) throw closed(this.name);
    const blockedMs = this.paces.blockedMs(key);
    if (blockedMs > 0) {
      this.reporter.reportRejection(key, cost, 'blocked', blockedMs);
      throw blocked(this.name, blockedMs);
    }
    if (this.jobs.waiting >= this.maxQueue) {
      this.reporter.reportRejection(key, cost, 'capacity', Number.NaN);
      throw full(this.name, this.maxQueue);
    }
    const order = this.jobCount++;
    const job = new Job(work, { key, cost, priority, order, signal }, () => {
      this.jobs.stopWaiting(job);
      this.queues.queueOf(key)?.drop(job);
    });
    this.jobs.addJob(job);
    this.queues.getOrCreate(key).enqueue(job, (answer) => this.rejectJob(job, answer));
    const sinceUs = this.slots.nowUs();
    let isStarted = false;
    try {
      await job.ready;
      isStarted = true;
    } finally {
      this.reporter.reportWait(job, isStarted, this.slots.nowUs() - sinceUs);
    }
    return job.runJob() as Promise<T>;
  }

  waitOf(key: string, options?: WaitOptions): Promise<number> {
    return this.yieldAfter(async () => {
      const priority = readPriority(options);
      return this.slots.peek(key, (answer) => this.waitMs(this.learn(answer), priority));
    });
  }

  pauseOf(key: string): Promise<number> {
    return this.yieldAfter(async () =>
      this.slots.peek(key, (answer) => this.pauseMs(this.learn(answer))),
    );
  }

  paceOf(key: string): Pick<Shaper, 'periodMs' | 'maxConcurrent'> {
    checkKey(key);
    return {
      periodMs: this.paces.periodUsOf(key) / 1_000,
      maxConcurrent: this.permits?.live.ruleFor(key).rule.limit ?? Infinity,
    };
  }

  queueLength(key: string): number {
    return this.queues.queueOf(key)?.length ?? 0;
  }

  get waiting(): number {
    return this.jobs.waiting;
  }

  get running(): number {
    return this.jobs.running;
  }

  stats(key: string): Eventually<ShaperStats> {
    return this.slots.peekAll(key, (answer) =>
      this.statsOf(this.learn(answer)),
    ) as Eventually<ShaperStats>;
  }

  pause(key: string, duration: Duration, by?: string): Promise<void> {
    return this.yieldAfter(async () => {
      checkKey(key);
      const us = durationBetween('duration', duration, '0ms', '24h');
      if (by !== undefined && typeof by !== 'string') throw mustBe('by', 'a string', by);
      const { failure, pausedUntil, receivedUs } = await this.queues
        .getOrCreate(key)
        .beginPause(us);
      // A longer pause that is already active keeps its note.
      const isLongest = failure || !pausedUntil || pausedUntil.localUs <= receivedUs + us;
      if (by !== undefined && isLongest) this.pauseNotes.write(key, by, us);
      if (failure) throw noAnswer(this.name, failure);
    });
  }

  onIdle(): Promise<void> {
    return this.jobs.idle();
  }

  async drain(timeout: Duration): Promise<Drained> {
    const us = durationBetween('timeout', timeout, '0ms', '24h');
    this.reservations.isClosed = true;
    await within(us / 1_000, this.jobs.idle());
    const { waiting: rejected, running } = this.jobs;
    await this.stop();
    // Not `close`, which would give up releases that the store has missed. They are sent again when it is back.
    void this.whenIdle().then(() => {
      if (!this.permits?.hasMissed) this.stopListening();
    });
    return { rejected, running };
  }

  async close(): Promise<void> {
    await this.stop();
    await this.whenIdle();
    await this.permits?.close();
    this.stopListening();
  }

  private async whenIdle(): Promise<void> {
    await this.jobs.idle();
    await this.slots.pending.whenIdle();
  }

  /** Tells the queue of the key, which may know of a pause that an operator has ended since. */
  private learn(answer: SlotAnswer): SlotAnswer {
    this.queues.queueOf(answer.key)?.handle(answer);
    return answer;
  }

  private waitMs(answer: SlotAnswer, priority: number): number {
    const queue = this.queues.queueOf(answer.key);
    if (!queue) return answer.waitMs;
    // The store may not have a pause that this process began.
    return Math.max(queue.waitMs(priority, answer), queue.pausedMs);
  }

  private statsOf(answer: SlotAnswer): Eventually<ShaperStats> {
    const { key } = answer;
    const nowUs = this.slots.nowUs();
    const at = (ms: number) => this.wallTime.at(nowUs + ms * 1_000, nowUs);
    const waitMs = this.waitMs(answer, 0);
    const pauseMs = this.pauseMs(answer);
    const stats: ShaperStats = {
      waiting: this.queueLength(key),
      running: this.jobs.runningOf(key),
      ...(this.permits && { runningInFleet: answer.running ?? null }),
      nextStartMs: waitMs === Infinity ? null : at(waitMs),
      pausedUntilMs: pauseMs > 0 ? at(pauseMs) : null,
      pausedBy: null,
    };
    if (pauseMs === 0) return stats;
    const by = this.pauseNotes.read(key);
    const noted = (pausedBy: string | null): ShaperStats => ({ ...stats, pausedBy });
    return isThenable(by) ? by.then(noted) : noted(by);
  }

  private pauseMs({ key, pausedUntil }: SlotAnswer): number {
    const storeMs = pausedUntil ? (pausedUntil.localUs - this.slots.nowUs()) / 1_000 : 0;
    return Math.max(storeMs, this.queues.queueOf(key)?.pausedMs ?? 0, 0);
  }

  /** Yields to the event loop now and then. Otherwise a caller in a loop would block the timers of its slots. */
  private yieldAfter<Value>(call: () => Promise<Value>): Promise<Value> {
    return this.turns.after(call());
  }

  private stop(): Promise<void> {
    this.stopping ??= this.cancelAll();
    return this.stopping;
  }

  private async cancelAll(): Promise<void> {
    this.reservations.isClosed = true;
    this.jobs.rejectWaiting(() => closed(this.name));
    const { queues, slots } = this;
    // Repeated, because pending calls can still bring slots.
    do await Promise.all([queues.cancelJobs(), slots.pending.whenIdle()]);
    while (slots.pending.isAny);
    // A queue may still have slots that could not be cancelled, or a pause. Its timer would run until they end.
    queues.clear();
  }

  startJob(job: Job, slot: Slot): void {
    this.jobs.start(job);
    job.start(this.runningJob(slot));
    if (slot.permit) void this.returnPermit(job, slot.permit);
    this.reporter.reportStart(slot);
  }

  private runningJob(slot: Slot): RunningJob {
    const settled = new Set<number>();
    return {
      settle: (units) => {
        for (const [at, own] of this.paces.settledUnits(units)) {
          if (!settled.has(at)) this.slots.settle(slot, at, own);
          settled.add(at);
        }
      },
    };
  }

  private async returnPermit(job: Job, permit: Permit): Promise<void> {
    const startUs = this.slots.nowUs();
    await job.ended;
    this.permits?.learnRun(this.slots.nowUs() - startUs);
    this.queues.getOrCreate(job.key).returnPermit(permit);
  }

  expireJob(job: Job, key: string, waitMs: number): void {
    this.jobs.stopWaiting(job);
    job.reject(waitedTooLong(this.name, waitMs));
    this.reporter.reportRejection(key, job.cost, this.permits ? 'concurrency' : 'rate', Number.NaN);
  }

  queueChanged(queue: JobQueue): void {
    this.queues.update(queue, this.jobs.waiting > 0);
  }

  private rejectJob(job: Job, answer: SlotAnswer): void {
    const { isUnknown, failure, waitMs } = answer;
    this.jobs.stopWaiting(job);
    if (isUnknown && failure) job.reject(noAnswer(this.name, failure));
    else job.reject(waitTooLong(this.name, waitMs));
    this.reporter.reportAnswer(answer);
  }
}

/** Tells the permits that an outage has ended. The store keeps this object, so it must not refer to the shaper. */
class Outages {
  permits: Permits | undefined;
  readonly onBreaker = ({ state }: BreakerEvent): void => {
    if (state !== 'open') this.permits?.catchUp();
  };
}

function makePermits(
  { name, maxConcurrent, leaseUs, random, plan }: ShaperConfig,
  client: DirectClient,
  pending: PendingCalls,
): Permits {
  const live = new LiveRule(
    `${name}/permits`,
    { limit: maxConcurrent as number },
    ({ limit }) => makeLeasesRule(checkLimit('maxConcurrent', limit), leaseUs),
    plan && {
      of: plan,
      pick: ({ maxConcurrent: limit }) => (limit === undefined ? undefined : { limit }),
    },
    client,
  );
  return new Permits(client, live, pending, random);
}
