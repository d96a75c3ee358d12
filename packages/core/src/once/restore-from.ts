import { MOST_COUNTED, makeCalendarRule } from '../algorithms/calendar.js';
import { calendarNamed } from '../algorithms/calendar-periods.js';
import { MAX_KEEP_US, makeClaimsRule } from '../algorithms/claims.js';
import { isPlainObject } from '../base/checks.js';
import { systemClock } from '../base/clock.js';
import { mustBe } from '../base/errors.js';
import { Junk } from '../base/junk.js';
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

/** Returns the units that `key` (the counted key) has used in a period: an integer from 0 to 2^51. */
export type UsedUnits = (
  key: string,
  period: { readonly start: Date; readonly end: Date },
) => number | PromiseLike<number>;

/** The most loads that one observer runs at once. If more keys need one, they are loaded at their next use. */
const MOST_LOADING = 8;
/** A load that never settles counts as running for this time. */
const LONGEST_LOAD_US = 60_000_000;
/** The most keys that one observer checks at once, including those that it loads. */
const MOST_CHECKING = 100;
/** If too many loads run, a process waits for this time before it checks a key again. */
const RETRY_US = 1_000_000;
const PATIENCE_MS = 2_000;
/** If a load fails or its process is killed, the key is loaded again after this time. */
const LEASE_US = 10_000_000;

interface Seen {
  nextCallUs: number;
  /** The start of the period of the count when it was last read. 0: not read yet. -1: the last read found no count. */
  startUs: number;
}

/**
 * Makes an observer that restores counts of limits by calendar if the store has lost them. A process checks a key when
 * a request starts its count, and every 10 s while the key is used. If the store has no record of a load in this
 * period, the process loads the units used and raises the count to them.
 *
 * No request waits for a load, so a key can exceed its limit by the units admitted before the load ends. A load that
 * fails or takes more than 2 s is a fault, and is repeated after 10 s when the key is used. One observer runs at most 8
 * loads at once.
 *
 * @param loads functions that return the units used; the property names are the names of limits by calendar
 * @throws SpillwayError `SPW_OPTION_INVALID`, `SPW_OPTION_UNKNOWN`, `SPW_STORE_INVALID`
 * @example
 * ```ts
 * import { memoryStore, restoreFrom } from '@spillway/core';
 *
 * declare function countUsage(customer: string, from: Date, to: Date): Promise<number>;
 *
 * const store = memoryStore();
 * const restoring = restoreFrom(
 *   { monthly: (key, { start, end }) => countUsage(key, start, end) },
 *   { store },
 * );
 * // For createGuard() or createLimiter(): observers: [restoring]
 * ```
 */
export function restoreFrom(
  loads: Readonly<Record<string, UsedUnits>>,
  options: MarkOptions,
): Pick<Observer, 'onDecision'> {
  if (!isPlainObject(loads)) throw mustBe('loads', 'an object of functions', loads);
  for (const load of Object.values(loads)) {
    if (typeof load !== 'function') throw mustBe('loads', 'an object of functions', load);
  }
  checkMarkOptions(options, 'restoreFrom()');
  const restorer = new Restorer(new Map(Object.entries(loads)), options);
  return { onDecision: (event, key, request) => restorer.look(event, key, request) };
}

class Restorer {
  private readonly loads: ReadonlyMap<string, UsedUnits>;
  private readonly options: MarkOptions;
  private readonly running = new Set<string>();
  /** The running loads. Not removed by timers, because Workers end timers with the request. */
  private readonly loading = new Set<{ readonly untilUs: number }>();
  private readonly seen = new RecentMarks<Seen>();

  constructor(loads: ReadonlyMap<string, UsedUnits>, options: MarkOptions) {
    this.loads = loads;
    this.options = options;
  }

  look(event: DecisionEvent, key: string | undefined, request: LimitRequest | undefined): void {
    const { limiter, outcome, used, cost } = event;
    const load = this.loads.get(limiter);
    if (!load || key === undefined || outcome === 'error' || !(used > 0)) return;
    const name = this.seen.nameOf(limiter, key);
    const seen = this.seen.get(name) ?? { nextCallUs: 0, startUs: 0 };
    // The count began with this request, so an earlier count may have been lost.
    if (outcome !== 'denied' && used <= cost) seen.nextCallUs = 0;
    const nowUs = systemClock.nowUs();
    if (seen.nextCallUs > nowUs) return;
    if (seen.startUs <= 0 && !this.mayLoad(nowUs)) return;
    if (this.running.has(name) || this.running.size >= MOST_CHECKING) return;
    this.seen.set(name, seen);
    const work = this.restore(event, key, load, seen);
    const restored = inBackground(work, this.running, name, limiter, this.options);
    request?.waitUntil?.(restored);
  }

  private async restore(
    { limiter, outcome }: DecisionEvent,
    key: string,
    load: UsedUnits,
    seen: Seen,
  ): Promise<void> {
    const { store } = this.options;
    const beginUs = systemClock.nowUs();
    seen.nextCallUs = beginUs + LEASE_US;
    const count = calendarLook(limiter, key);
    const known: Step = { ...markOf(count, seen.startUs, LEASE_US), op: 'look' };
    const [counted, marked] = await answersOf<[CalendarAnswer, ClaimsAnswer]>(store, [
      count,
      known,
    ]);
    const { startUs, endUs, current } = counted;
    if (startUs === 0) {
      // The billing period is unknown, or the store has lost the count of a key that a process rejects from its cache.
      if (current > 0 || outcome !== 'allowed' || seen.startUs > 0) return;
      if (seen.startUs < 0) throw new Error(`limiter "${limiter}" has no count by calendar`);
      // The count was perhaps lost or reset after the decision, or its period has ended.
      seen.startUs = -1;
      return;
    }
    if (marked.state === 'done' && startUs === seen.startUs) return;
    seen.startUs = startUs;
    if (!this.mayLoad(beginUs)) {
      seen.nextCallUs = beginUs + RETRY_US;
      return;
    }
    const place = { untilUs: beginUs + LONGEST_LOAD_US };
    this.loading.add(place);
    const leftUs = endUs - counted.nowUs;
    const keepUs = Math.min(Math.max(leftUs, LEASE_US), MAX_KEEP_US);
    const mark = markOf(count, startUs, keepUs);
    let loading: Promise<number> | undefined;
    try {
      const [{ allowed, nowUs, endsUs }] = await answersOf<[ClaimsAnswer]>(store, [mark]);
      if (!allowed) {
        seen.nextCallUs = beginUs + Math.min(endsUs - nowUs, LEASE_US);
        return;
      }
      const [start, end] = [new Date(startUs / 1_000), new Date(endUs / 1_000)];
      loading = new Promise((resolve) => resolve(load(key, { start, end })));
    } finally {
      // Even after its timeout, a load uses the app's database until its promise settles.
      const free = () => this.loading.delete(place);
      Promise.resolve(loading).then(free, free);
    }
    const loaded = await within(PATIENCE_MS, loading);
    if ('error' in loaded) throw loaded.error;
    const { value } = loaded;
    if (!(Number.isInteger(value) && value >= 0 && value <= MOST_COUNTED)) {
      throw new Junk(`restoreFrom of limiter "${limiter}"`, value);
    }
    // Sent with the count in one call, so that both go to one node of a Cluster: a node that loses the count loses its
    // mark too.
    const look: Step = { ...mark, op: 'look' };
    // A raise that arrived in the next period would count in that period.
    const latestUs = beginUs + Math.min(LEASE_US, leftUs);
    for (let isRaised = false; ; ) {
      const [held, now] = await answersOf<[ClaimsAnswer, CalendarAnswer]>(store, [look, count]);
      // Starts again if the next period has begun, or if the store has lost the mark. A store that has lost the mark
      // has also lost the units counted since the load began.
      const isHeld = held.owner === mark.claim?.owner;
      if (!isHeld || now.startUs !== startUs) return this.startAgain(mark, 'put', seen);
      const cost = value - now.current;
      if (isRaised || cost <= 0) {
        const [{ owner }] = await answersOf<[ClaimsAnswer]>(store, [look, { ...mark, op: 'done' }]);
        // The store has lost the count again, before this call, so the mark is wrong.
        if (owner !== mark.claim?.owner) await this.startAgain(mark, owner ? 'put' : 'reset', seen);
        return;
      }
      const raise = raiseBy(cost, value, count);
      const [raised] = await answersOf<[CalendarAnswer]>(store, [raise], latestUs);
      isRaised = raised.allowed;
      if (isRaised && raised.startUs !== startUs) {
        // The count was lost or reset after it was read, so the raise began a new one, which would not end with the
        // period.
        const receipt = { atUs: raised.startUs, num: 0, units: cost };
        // Another process may have set the mark meanwhile, because of the units that are given back now.
        const again = markOf(count, raised.startUs || startUs, LEASE_US);
        const back: Step[] = [
          { ...count, op: 'put', cost, receipt },
          { ...again, op: 'reset' },
        ];
        await answersOf(store, back);
        seen.nextCallUs = 0;
        return;
      }
    }
  }

  private mayLoad(nowUs: number): boolean {
    for (const load of this.loading) if (load.untilUs <= nowUs) this.loading.delete(load);
    return this.loading.size < MOST_LOADING;
  }

  private async startAgain(mark: Step, op: 'put' | 'reset', seen: Seen): Promise<void> {
    await answersOf(this.options.store, [{ ...mark, op }]);
    seen.nextCallUs = 0;
  }
}

/** The step that marks a period as restored. The next period may begin before the mark of this one expires. */
function markOf({ limiter, key }: Step, startUs: number, keepUs: number): Step {
  const claim = { id: `restored ${startUs}`, owner: newOwner() };
  const rule = makeClaimsRule(LEASE_US, keepUs);
  return { op: 'take', limiter: `${limiter}.restored`, key, rule, claim, cost: 1, binding: true };
}

/**
 * Returns the step that adds the missing units to a count. The store rejects the step if the count has grown by more
 * than half of these units since it was read. So if the step is sent twice, it passes only once.
 */
function raiseBy(cost: number, value: number, count: Step): Step {
  const rule = makeCalendarRule(value + Math.floor(cost / 2), calendarNamed('billing'));
  return { ...count, op: 'take', rule, binding: true, cost };
}
