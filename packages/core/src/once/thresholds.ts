import { MAX_KEEP_US, makeClaimsRule } from '../algorithms/claims.js';
import { isPlainObject } from '../base/checks.js';
import { systemClock } from '../base/clock.js';
import { mustBe } from '../base/errors.js';
import { within } from '../base/within.js';
import type { DecisionEvent, Observer } from '../contract/observer.js';
import type { LimitRequest } from '../contract/request.js';
import type { CalendarAnswer, ClaimsAnswer } from '../contract/rule.js';
import type { Step } from '../contract/store.js';
import { newOwner } from './claim-note.js';
import {
  answersOf,
  calendarLook,
  checkMarkOptions,
  inBackground,
  type MarkOptions,
  RecentMarks,
} from './marks.js';

/** The report that a key has used a share of its limit. */
export interface Crossed {
  /** Stays the same if this crossing is reported again. Use it to act only once. */
  readonly id: string;
  readonly limiter: string;
  readonly key: string;
  readonly threshold: number;
  /** How many units the key had used when a decision crossed the share. With a calendar: when this report was made. */
  readonly used: number;
  /** The limit; with plans, that of the key's plan. */
  readonly limit: number;
  /** When the period ends, by the clock of the store, to the second. */
  readonly resetsAt: Date;
}

/** After this time, any process may call the callback again, because it failed or takes long. */
const LEASE_US = 60_000_000;
const SHORTEST_US = 1_000_000;

/** The most callbacks that one observer runs at once. If more keys need one, they are reported at their next use. */
const MOST_RUNNING = 100;
/**
 * Makes an observer that calls `onCrossed` when a key has used a share of a limit: at least once per key, period and
 * share, in all processes together. It is meant for quotas: calendars and fixed windows. With other algorithms, a
 * period ends when all units are available again.
 *
 * A share counts as reported when the promise of `onCrossed` has resolved. If the callback fails, takes more than a
 * minute, or its process is killed, it is called again with the same `id`. That happens when a minute has passed since
 * the first attempt and the key is used again. A crossing in the last second of a period may go unreported. Limits in
 * shadow mode, concurrency limits and decisions made without the store are ignored.
 *
 * @param shares a list per limit, by its name. The numbers are above 0 and at most 1,000: 0.8 stands for 80 %; more
 * than 1 needs `overage`
 * @param onCrossed may be async; no request waits for it, but on Workers the platform does
 * @throws SpillwayError `SPW_OPTION_INVALID`, `SPW_OPTION_UNKNOWN`, `SPW_STORE_INVALID`
 * @example
 * ```ts
 * import { calendar, createGuard, memoryStore, rateLimit, thresholds } from '@spillway/core';
 *
 * declare function mail(to: string, text: string, id: string): Promise<void>;
 *
 * const store = memoryStore();
 * const alerts = thresholds(
 *   { monthly: [0.8, 1] },
 *   ({ id, key, threshold }) => mail(key, `You have used ${100 * threshold} % of your quota.`, id),
 *   { store },
 * );
 * createGuard(rateLimit({ name: 'monthly', limit: 10_000, window: calendar('month') }), {
 *   store,
 *   observers: [alerts],
 * });
 * ```
 */
export function thresholds(
  shares: Readonly<Record<string, readonly number[]>>,
  onCrossed: (crossed: Crossed) => unknown,
  options: MarkOptions,
): Pick<Observer, 'onDecision'> {
  if (!isPlainObject(shares)) throw mustBe('shares', 'an object of lists of numbers', shares);
  for (const own of Object.values(shares)) {
    if (!Array.isArray(own) || !own.every(isShare)) {
      throw mustBe('shares', 'numbers above 0, such as 0.8 for 80 %', own);
    }
  }
  if (typeof onCrossed !== 'function') throw mustBe('onCrossed', 'a function', onCrossed);
  checkMarkOptions(options, 'thresholds()');
  const teller = new Teller(shares, onCrossed, options);
  return { onDecision: (event, key, request) => teller.look(event, key, request) };
}

function kept(us: number): number {
  return Math.round(Math.min(Math.max(us, SHORTEST_US), MAX_KEEP_US));
}

function isShare(share: unknown): boolean {
  return typeof share === 'number' && share > 0 && share <= 1_000;
}

interface Quiet {
  readonly nextCallUs: number;
  /**
   * The known ends of the calendar period, by the clock of this process; empty for other windows. There can be several:
   * after a change of the period, rejections state the new end, while the store still has the old one.
   */
  readonly endsUs: readonly number[];
  /** The start of the calendar period; 0 if it is unknown, or the window is not a calendar. */
  readonly startUs: number;
}

const MOST_ENDS = 8;

/** Ends that differ by at most this are of one period: late replies shift the computed end by less. */
const SAME_US = 60_000_000;

/**
 * If a window of a day or more ends within this time, it may have ended before this process received the decision. Then
 * nothing is reported, unless the store has a count by calendar.
 */
const LATEST_US = 1_000_000;

class Teller {
  private readonly shares: ReadonlyMap<string, readonly number[]>;
  private readonly onCrossed: (crossed: Crossed) => unknown;
  private readonly options: MarkOptions;
  private readonly running = new Set<string>();
  private readonly quiet = new RecentMarks<Quiet>();
  private readonly calendars = new Set<string>();

  constructor(
    shares: Readonly<Record<string, readonly number[]>>,
    onCrossed: (crossed: Crossed) => unknown,
    options: MarkOptions,
  ) {
    this.shares = new Map(
      Object.entries(shares).map(([name, own]) => [name, [...own].sort((a, b) => a - b)]),
    );
    this.onCrossed = onCrossed;
    this.options = options;
  }

  look(event: DecisionEvent, key: string | undefined, request: LimitRequest | undefined): void {
    const { limiter, mode, outcome, policy, used, cost, resetMs } = event;
    const shares = this.shares.get(limiter);
    if (!shares || key === undefined || mode !== 'enforce' || outcome === 'error') return;
    // Permits have no period, so their `resetMs` is NaN.
    if (!policy || policy.limit === 0 || Number.isNaN(resetMs)) return;
    const now = systemClock.nowUs();
    for (const share of shares) {
      // Compares the quotient, because 0.07 * 100 is more than 7.
      if (!(used / policy.limit >= share)) return;
      const name = this.quiet.nameOf(`${limiter} ${share} of ${policy.limit}`, key);
      if (this.running.has(name) || this.running.size >= MOST_RUNNING) continue;
      const quiet = this.quiet.get(name) ?? { nextCallUs: 0, endsUs: [], startUs: 0 };
      // A new period may have begun before the known one ended.
      const crosses = outcome !== 'denied' && (used - cost) / policy.limit < share;
      const endUs = now + resetMs * 1_000;
      const isSame = quiet.endsUs.some((known) => Math.abs(endUs - known) <= SAME_US);
      const isKnown = quiet.endsUs.length === 0 || (isSame && !crosses);
      if (isKnown && quiet.nextCallUs > now) continue;
      const work = this.tell(event, share, key, name);
      const told = inBackground(work, this.running, name, limiter, this.options);
      request?.waitUntil?.(told);
    }
  }

  private async tell(
    { limiter, policy, used, resetMs }: DecisionEvent,
    threshold: number,
    key: string,
    name: string,
  ): Promise<void> {
    const { store } = this.options;
    const beginUs = systemClock.nowUs();
    const { limit = 0, windowMs = 0 } = policy ?? {};
    const look = calendarLook(limiter, key);
    const [count] = await answersOf<[CalendarAnswer]>(store, [look]);
    const { startUs, current } = count;
    const isCalendar = startUs > 0 || current > 0;
    if (isCalendar) this.calendars.add(limiter);
    const resetUs = isCalendar
      ? count.endUs - count.nowUs
      : resetMs * 1_000 - (systemClock.nowUs() - beginUs);
    // Nothing is reported if the period of the decision has ended, or if units were refunded. Windows shorter than a
    // day are never calendars, so their end is not checked.
    const hasEnded = resetUs <= (isCalendar ? 0 : LATEST_US) && windowMs >= 86_400_000;
    if (hasEnded || (this.calendars.has(limiter) && current / limit < threshold)) return;
    const quiet = this.quiet.get(name);
    const before = quiet?.startUs === startUs ? quiet.endsUs : [];
    const ends = isCalendar ? [systemClock.nowUs() + resetUs, beginUs + resetMs * 1_000] : [];
    const known = [...ends, ...before].slice(0, MOST_ENDS);
    const beQuiet = (forUs: number): void =>
      this.quiet.set(name, { nextCallUs: systemClock.nowUs() + forUs, endsUs: known, startUs });
    const since = isCalendar ? ` since ${startUs}` : '';
    const claim = { id: `${threshold} of ${limit}${since}`, owner: newOwner() };
    const own = `${limiter}.thresholds`;
    const rule = makeClaimsRule(LEASE_US, kept(resetUs));
    const step: Step = { op: 'take', limiter: own, key, rule, claim, cost: 1, binding: true };
    // The end of a window without a calendar moves with requests and late replies. So the first end found is stored,
    // because the id contains it.
    const end: Step = { ...step, op: 'done', claim: { ...claim, id: `end of ${claim.id}` } };
    const answers = await answersOf<ClaimsAnswer[]>(store, isCalendar ? [step] : [step, end]);
    const claimedUs = systemClock.nowUs();
    const [{ allowed, nowUs, endsUs }, ended] = answers as [ClaimsAnswer, ClaimsAnswer?];
    if (!allowed) {
      beQuiet(endsUs - nowUs);
      return;
    }
    beQuiet(LEASE_US);
    const endUs = ended?.endsUs ?? count.endUs;
    const resetsAt = new Date(Math.round(endUs / 1_000_000) * 1_000);
    // A calendar period is identified by its start, because it can be extended. Other periods have the property
    // `until`, because their end can equal the start of another period.
    const period = startUs > 0 ? new Date(startUs / 1_000) : { until: resetsAt };
    const id = JSON.stringify([limiter, key, `${threshold} of ${limit}`, period]);
    const units = isCalendar ? current : used;
    const crossed = { id, limiter, key, threshold, used: units, limit, resetsAt };
    const told = await within(
      LEASE_US / 1_000,
      new Promise((resolve) => resolve(this.onCrossed(crossed))),
    );
    if ('error' in told) throw told.error;
    // The mark lasts until the end of the period, however long the callback took.
    const keptUs = kept(endUs - nowUs - (systemClock.nowUs() - claimedUs));
    await answersOf(store, [{ ...step, rule: makeClaimsRule(LEASE_US, keptUs), op: 'done' }]);
    beQuiet(keptUs);
  }
}
