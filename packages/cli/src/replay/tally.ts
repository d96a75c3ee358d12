import type { DecisionEvent } from '@spillway/core';
import type { DeclaredNumbers } from '@spillway/core/store';
import { CallerTable, firstOf, MAX_CALLERS, type Timing } from './caller-table.js';
import type { LogEntry } from './log-entry.js';
import { type CallerReport, type JudgedLimiter, rangeOf } from './report.js';
import { shownKey } from './shown-key.js';
import { Timeline } from './timeline.js';
import { Trace } from './trace.js';

export type RateNumbers = DeclaredNumbers & { readonly windowMs: number };

export class Tally {
  readonly callers: CallerTable = new CallerTable();
  readonly trace: Trace = new Trace();
  private readonly name: string;
  private readonly numbers: RateNumbers;
  private readonly timeline = new Timeline();
  private readonly statuses = new Map<string, number>();
  private readonly rejected: [number, number] = [0, 0];
  private requests = 0;
  private latest = -1;
  private latestKey: string | undefined;
  private startUs = 0;

  constructor(name: string, numbers: RateNumbers) {
    this.name = name;
    this.numbers = numbers;
  }

  /** Must be called twice for each request: first with {@link Timing} 0, then with 1. */
  count(timing: Timing, event: DecisionEvent, key: string, entry: LogEntry, atUs: number): void {
    const isRejected = isRejection(event);
    if (timing === 0) {
      this.requests += 1;
      this.latest = this.callers.count(key, atUs);
      this.latestKey = key;
      this.startUs = atUs;
    } else {
      // Functions of the policy may answer differently the second time.
      if (key !== this.latestKey) {
        this.latest = this.callers.idOf(key);
        this.startUs = atUs;
      }
      this.latestKey = undefined;
      this.timeline.add(atUs, isRejected);
      // The row that later callers share is left out: with one count for all of them, nearly all would be rejected.
      if (event.cost > 0 && this.latest < MAX_CALLERS) {
        this.trace.push(this.latest, atUs, event.cost, atUs - this.startUs);
      }
      if (isRejected) this.noteStatus(entry);
    }
    if (!isRejected) return;
    this.rejected[timing] += 1;
    this.callers.reject(this.latest, timing);
  }

  report(
    topCount: number,
    tried: Pick<JudgedLimiter, 'use' | 'table' | 'smallest'>,
  ): JudgedLimiter {
    const { algorithm, limit, windowMs, burst } = this.numbers;
    const top = this.top(Math.max(1, topCount));
    const [first] = top;
    const high = rangeOf(this.rejected).high;
    return {
      name: this.name,
      judged: true,
      algorithm,
      limit,
      windowMs,
      ...(burst !== undefined && { burst }),
      requests: this.requests,
      callers: this.callers.size,
      rejected: rangeOf(this.rejected),
      rejectedCallers: rangeOf([this.hit(0), this.hit(1)]),
      shareOfFirst: high === 0 ? 0 : (first?.rejected.high ?? 0) / high,
      top: top.slice(0, topCount),
      statuses: Object.fromEntries([...this.statuses].sort(([, a], [, b]) => b - a)),
      timeline: this.timeline.report(),
      ...tried,
    };
  }

  private noteStatus({ status }: LogEntry): void {
    const shown = status === undefined ? 'unknown' : String(status);
    this.statuses.set(shown, (this.statuses.get(shown) ?? 0) + 1);
  }

  private hit(timing: Timing): number {
    let hit = 0;
    for (let id = 0; id < this.callers.size; id += 1) {
      if (this.callers.rejectedOf(id, timing) > 0) hit += 1;
    }
    return hit;
  }

  private top(count: number): CallerReport[] {
    const { callers } = this;
    const most = (id: number) => Math.max(callers.rejectedOf(id, 0), callers.rejectedOf(id, 1));
    const compare = (a: number, b: number) =>
      most(b) - most(a) || callers.requestsOf(b) - callers.requestsOf(a);
    return firstOf(callers.size, count, compare).map((id) => ({
      caller: shownKey(callers.nameOf(id)),
      requests: callers.requestsOf(id),
      rejected: rangeOf([callers.rejectedOf(id, 0), callers.rejectedOf(id, 1)]),
      peak: callers.peaksOf(id),
    }));
  }
}

export function isRejection({ outcome }: DecisionEvent): boolean {
  return outcome === 'would-deny' || outcome === 'denied';
}
