import { checkHas, checkOptions } from '../../base/check-shapes.js';
import { checkCallback, checkClock, durationBetween } from '../../base/checks.js';
import { type Clock, systemClock } from '../../base/clock.js';
import type { Duration } from '../../base/duration.js';
import { randomOf } from '../../base/hint.js';
import { afterIdly, disregard, endsTimersWithRequests } from '../../base/host.js';
import type { NamesOf } from '../../base/option-names.js';
import { within } from '../../base/within.js';
import type { Decision, Mode } from '../../contract/decision.js';
import type { Observer } from '../../contract/observer.js';
import { tellFault } from '../faults.js';
import { checkSecret } from '../secret.js';
import type { CallerCount, CallerList } from './caller-list.js';
import { type CallerTops, type CallerWindows, SLICE_US } from './caller-windows.js';
import { LimiterRecord } from './limiter-record.js';
import type { LimiterReport, ReportSink } from './report.js';
import { CallerSeal } from './sealed-caller.js';

/** A summary of the rejections of one limiter in one interval, for a log line. */
export interface CallerSummary {
  readonly limiter: string;
  /** `denied`: the callers were rejected. `would-deny`: the limiter is in shadow mode and would have rejected them. */
  readonly outcome: 'denied' | 'would-deny';
  /** When the interval began and ended, in milliseconds since the epoch. */
  readonly fromMs: number;
  readonly toMs: number;
  readonly total: number;
  /** The five callers with the most rejections. */
  readonly callers: readonly CallerCount[];
  /** The rejections of all other callers; an upper bound if the counts in `callers` are not exact. */
  readonly rest: number;
}

export interface TopCallersOptions {
  /**
   * Where this process publishes its tables: `redisReports(client)`. Without it, only {@link TopCallers.report} shows
   * them.
   */
  readonly publishTo?: ReportSink | undefined;
  /** Writes summaries to your logger: one for each limiter, outcome and interval with rejections. */
  readonly write?: ((summary: CallerSummary) => void) | undefined;
  /**
   * The interval of the summaries, from `'1m'` to `'1d'`. Default `'15m'`. The first interval is shorter, at random.
   */
  readonly every?: Duration | undefined;
  /**
   * A secret of at least 16 characters, the same in all processes, that encrypts keys before they leave the process.
   * Without a secret, keys stay readable.
   */
  readonly secret?: string | undefined;
  /** Source of time, for tests. Default: the process's monotonic clock. */
  readonly clock?: Clock | undefined;
  /** Returns a random number from 0 up to 1; for tests. Default `Math.random`. */
  readonly random?: (() => number) | undefined;
}

const NAMES: NamesOf<TopCallersOptions> = {
  publishTo: 1,
  write: 1,
  every: 1,
  secret: 1,
  clock: 1,
  random: 1,
};

export interface TopCallers extends Observer {
  countDecision(decision: Decision, mode: Mode, key: string | undefined): void;
  /** The limiters of this process, with their top callers of the last 1 and 15 minutes. */
  report(): readonly LimiterReport[];
  /**
   * Writes and publishes the remaining data, for at most 5 s, and stops. Call it at shutdown, after the last request.
   */
  close(): Promise<void>;
}

/** Maximum number of limiters with separate records. Further limiters are counted together. */
const MAX_LIMITERS = 1_000;
const OTHERS = '(others)';

const TICK_US = 1_000_000;
/** Maximum number of limiters per publication, to bound its size. The other limiters follow in the next seconds. */
const MAX_PUBLISHED = 40;
/** How often a process without changes publishes an empty list, to show that it is alive. */
const ALIVE_US = 10_000_000;
const PATIENCE_US = 5_000_000;
const SUMMARIZED = 5;

/**
 * Makes an observer that keeps tables of the callers that each limiter rejects, or would reject in shadow mode. Of each
 * 10 s, the top 20 callers of a limiter are kept, with exact counts up to 400 callers and 50,000 rejections. Beyond
 * that, counts are ranges. Use one observer for all guards of a process.
 *
 * @throws SpillwayError `SPW_OPTION_INVALID`, `SPW_OPTION_UNKNOWN`
 * @example
 * ```ts
 * import { createGuard, rateLimit } from '@spillway/core';
 * import { topCallers } from '@spillway/core/who';
 *
 * const callers = topCallers({ write: (summary) => console.log(JSON.stringify(summary)) });
 * createGuard(rateLimit({ limit: 100, window: '1m' }), { observers: [callers] });
 * const [api] = callers.report();
 * api?.rejected.minute.callers[0]; // the caller with the most rejections of the last minute
 * ```
 */
export function topCallers(options: TopCallersOptions = {}): TopCallers {
  return new Recorder(options);
}

class Recorder implements TopCallers {
  private readonly sink: ReportSink | undefined;
  private readonly write: TopCallersOptions['write'];
  private readonly everyUs: number;
  private readonly random: () => number;
  private readonly seal: CallerSeal | undefined;
  private readonly clock: Clock;
  /** If true, due work runs during decisions, not on a timer: with a custom clock, or where requests end timers. */
  private readonly isDriven: boolean;
  private readonly records = new Map<string, LimiterRecord>();
  /** The record of the latest decision. If {@link isDriven}, no limiter has its name. */
  private last: LimiterRecord;
  private slice: number | undefined;
  private startUs = 0;
  private fromUs = 0;
  private summaryDueUs = 0;
  private publishDueUs = 0;
  private aliveDueUs = 0;
  private publishing: Promise<boolean> | undefined;
  private closing: Promise<void> | undefined;
  private stopTimer: (() => void) | undefined;

  constructor(options: TopCallersOptions) {
    checkOptions(options, 'topCallers()', NAMES);
    const { publishTo, write, every = '15m', secret, clock } = options;
    if (publishTo !== undefined) checkHas('publishTo', 'publish', publishTo);
    checkCallback('write', write);
    checkSecret(secret);
    checkClock(clock);
    this.sink = publishTo;
    this.write = write;
    this.everyUs = durationBetween('every', every, '1m', '1d');
    this.random = randomOf(options);
    this.last = new LimiterRecord('', this.random);
    this.seal = secret === undefined ? undefined : new CallerSeal(secret);
    this.clock = clock ?? systemClock;
    this.isDriven = clock !== undefined || endsTimersWithRequests();
  }

  countDecision(decision: Decision, mode: Mode, key: string | undefined): void {
    const { limiter, outcome } = decision;
    let { last } = this;
    if (limiter !== last.limiter) last = this.find(limiter);
    last.mode = mode;
    last.publications = 2;
    // In a flood, most decisions end here. Counters in objects of their own cost a rejection 10 ns more, of 550.
    if (outcome === 'allowed') last.allowed += 1;
    else if (outcome === 'denied' && last.toSkip > 0) last.toSkip -= 1;
    else last.add(decision, key);
  }

  private find(limiter: string): LimiterRecord {
    if (this.isDriven || this.slice === undefined) this.keepUp();
    const record = this.recordOf(limiter);
    // While a timer runs, the next decision need not come here, where it would read the clock.
    if (!this.isDriven) this.last = record;
    return record;
  }

  report(): readonly LimiterReport[] {
    this.keepUp();
    return Array.from(this.records.values(), (record) => this.shown(record));
  }

  close(): Promise<void> {
    this.closing ??= this.end();
    return this.closing;
  }

  private async end(): Promise<void> {
    if (this.slice === undefined) return;
    this.keepUp();
    this.stopTimer?.();
    this.turn(this.slice);
    this.summarize();
    const rest = await within(PATIENCE_US / 1000, this.publishRest());
    if ('error' in rest) this.tell(rest.error);
  }

  private async publishRest(): Promise<void> {
    for (const record of this.changed()) record.publications = 1;
    let goesOn = (await this.publishing) ?? true;
    while (goesOn && this.changed().length > 0) goesOn = await this.publish();
  }

  private recordOf(limiter: string): LimiterRecord {
    const known = this.records.get(limiter);
    if (known) return known;
    if (this.records.size >= MAX_LIMITERS && limiter !== OTHERS) return this.recordOf(OTHERS);
    const record = new LimiterRecord(limiter, this.random);
    this.records.set(limiter, record);
    return record;
  }

  private keepUp(): void {
    if (this.closing) return;
    const nowUs = this.clock.nowUs();
    const slice = Math.floor(nowUs / SLICE_US);
    if (this.slice === undefined) this.begin(nowUs, slice);
    if (slice > (this.slice as number)) {
      this.turn(slice);
      if (nowUs >= this.summaryDueUs) this.summarize();
    }
    const isBusy = this.publishing && nowUs < this.publishDueUs + PATIENCE_US;
    if (!this.sink || isBusy || nowUs < this.publishDueUs) return;
    if (nowUs < this.aliveDueUs && this.changed().length === 0) return;
    this.publishDueUs = nowUs + TICK_US;
    this.aliveDueUs = nowUs + ALIVE_US;
    const call = this.publish();
    this.publishing = call;
    void call.then(() => {
      if (this.publishing === call) this.publishing = undefined;
    });
  }

  private begin(nowUs: number, slice: number): void {
    this.slice = slice;
    this.startUs = nowUs;
    this.fromUs = nowUs;
    this.summaryDueUs = nowUs + this.everyUs * this.random();
    this.publishDueUs = nowUs + TICK_US;
    if (!this.isDriven) this.tick();
  }

  private readonly tick = (): void => {
    if (this.closing) return;
    this.stopTimer = afterIdly(TICK_US / 1000, this.tick);
    this.keepUp();
  };

  private turn(slice: number): void {
    for (const record of this.records.values()) record.turn(this.slice as number, slice);
    this.slice = slice;
  }

  private summarize(): void {
    const nowUs = this.clock.nowUs();
    for (const { limiter, rejected, wouldReject } of this.records.values()) {
      this.summarizeOne(limiter, 'denied', rejected, nowUs);
      this.summarizeOne(limiter, 'would-deny', wouldReject, nowUs);
    }
    this.fromUs = nowUs;
    this.summaryDueUs = nowUs + this.everyUs;
  }

  private summarizeOne(
    limiter: string,
    outcome: CallerSummary['outcome'],
    windows: CallerWindows,
    nowUs: number,
  ): void {
    const list = windows.takeSummary();
    if (list.total === 0 || !this.write) return;
    const { total, callers } = this.sealed({ ...list, callers: list.callers.slice(0, SUMMARIZED) });
    const rest = callers.reduce((left, { atLeast }) => left - atLeast, total);
    const [fromMs, toMs] = [this.fromUs / 1000, nowUs / 1000].map(Math.floor) as [number, number];
    try {
      disregard(this.write({ limiter, outcome, fromMs, toMs, total, callers, rest }));
    } catch (error) {
      this.tell(error);
    }
  }

  private changed(): LimiterRecord[] {
    return [...this.records.values()].filter(({ publications }) => publications > 0);
  }

  private async publish(): Promise<boolean> {
    const records = this.changed().sort((a, b) => a.publishedAtUs - b.publishedAtUs);
    const now = records.slice(0, MAX_PUBLISHED);
    const publishedAtUs = this.clock.nowUs();
    for (const record of now) {
      record.publications -= 1;
      record.publishedAtUs = publishedAtUs;
    }
    try {
      await this.sink?.publish(now.map((record) => this.shown(record)));
      return true;
    } catch (error) {
      for (const record of now) record.publications += 1;
      this.tell(error);
      return false;
    }
  }

  private shown(record: LimiterRecord): LimiterReport {
    const report = record.report(Math.floor((this.clock.nowUs() - this.startUs) / 1000));
    if (!this.seal) return report;
    const { rejected, wouldReject, ...rest } = report;
    const sealed = ({ minute, quarter }: CallerTops): CallerTops => {
      return { minute: this.sealed(minute), quarter: this.sealed(quarter) };
    };
    return { ...rest, rejected: sealed(rejected), wouldReject: sealed(wouldReject) };
  }

  private sealed(list: CallerList): CallerList {
    const { seal } = this;
    if (!seal) return list;
    const callers = list.callers.map((one) => ({ ...one, caller: seal.seal(one.caller) }));
    return { ...list, callers };
  }

  private tell(error: unknown): void {
    tellFault(undefined, { limiter: '', source: 'observer', error });
  }
}
