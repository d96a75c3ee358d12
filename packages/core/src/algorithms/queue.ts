/**
 * A shaper's queue: a bucket whose takers may wait. If you change the steps, also change them in queue.lua and
 * takes.lua in packages/redis/src/algorithms/queue.
 *
 * As text, as in Redis: `us:span` or `us:span:pause`. If the instant has a fraction of a microsecond, the text is
 * `us:span:pause:num:den`, and the pause may be 0.
 */

import { mulDiv } from '../base/exact.js';
import type { Ask } from '../contract/ask.js';
import type { Numbers } from '../contract/decision.js';
import type {
  Answer,
  Machine,
  QueueAnswer,
  QueueRule,
  Rule,
  Shelf,
  ShelfStep,
} from '../contract/rule.js';
import {
  bucketNumbers,
  measureParts,
  receiptOfBucket,
  refillTime,
  restOfBucket,
  sameNumbers,
  unitsUsed,
} from './bucket.js';
import { ratePolicy, windowOf } from './decide.js';
import { givenBack } from './receipt.js';
import { KeySlots } from './shelves/flat-table.js';
import { numbersOf, type TextForm } from './stored-count.js';

/**
 * The queue of a shaper. It calculates like the token bucket, but is separate, because a bucket that can wait would
 * make every limiter slower. A `put` refunds only the latest grant, because refunding an earlier one would change waits
 * that were promised.
 */
export const queueMachine: Machine = {
  same: (rule: QueueRule, other: QueueRule) =>
    rule.waitUs === other.waitUs && sameNumbers(rule, other),
  capacity: ({ burst }: QueueRule) => burst,
  share: ({ limit, windowUs, burst, waitUs }: QueueRule, share) =>
    makeShaperRule(limit, windowOf(windowUs, share), burst, waitUs),
  policy: (name, rule: QueueRule) => ratePolicy(name, rule),
  declared: ({ limit, windowUs, burst, waitUs }: QueueRule) => ({
    algorithm: 'shaper',
    limit,
    windowMs: windowUs / 1000,
    burst,
    maxWaitMs: waitUs / 1000,
  }),
  expiresAfterUs: ({ spanUs }: QueueRule) => MAX_HOLD_US + spanUs,
  measure: measureQueue,
  receipt: receiptOfBucket,
  heldUs: ({ nowUs, pausedUntilUs }: QueueAnswer) => pausedUntilUs && pausedUntilUs - nowUs,
  rest: restOfBucket,
  startTogether,
  // Rejections are not cached: a `put` of the last slot may end a rejection at any moment.
  shelf: () => new QueueShelf(),
};

/**
 * Makes the rule of a shaper's queue: `limit` units per `windowUs`, at most `burst` of them at once. The numbers must
 * have been checked, as for `makeRule`. `waitUs`, the longest wait of a taker, is an integer from 0 to 400 days in
 * microseconds. With 0 the rule decides like a token bucket.
 */
export function makeShaperRule(
  limit: number,
  windowUs: number,
  burst: number,
  waitUs: number,
): QueueRule {
  const numbers = bucketNumbers(limit, windowUs, burst);
  const { tolUs, tolNum, period, den } = numbers;
  const lead = mulDiv(numbers.burst - 1, period, den);
  const times = { waitUs, spanUs: tolUs + (tolNum > 0 ? 1 : 0) + waitUs };
  const leads = { leadUs: lead.whole, leadNum: lead.rest };
  // All rules of a limiter share one count: its state contains the numbers that other rules need to read it.
  return { machine: 'queue', logic: queueMachine, code: 'q', ...numbers, ...times, ...leads };
}

/** `remaining` units pass without waiting. After `retryAfterMs` the cost passes, but may have to wait. */
function measureQueue(rule: QueueRule, answer: QueueAnswer, cost: number): Numbers {
  return { ...measureParts(rule, answer, cost, rule.waitUs), used: unitsUsed(rule, answer) };
}

/**
 * How long to wait for units, in milliseconds from `answer.nowUs`, with a resolution of one microsecond.
 *
 * - With a `cost` of 0, it is the wait for the unit charged last. After a charged take, that is the delay of this take.
 * - With a higher `cost`, it is the wait for that many further units if there are no other takes. It is `Infinity` for
 *   a cost above the burst. A wait longer than `rule.waitUs` means that the cost doesn't pass now.
 *
 * @example
 * ```ts run
 * import { delayOf, makeShaperRule } from '@spillway/core/store';
 *
 * const rule = makeShaperRule(4, 1_000_000, 1, 30_000_000);
 * const taken = { allowed: true, nowUs: 0, tatUs: 500_000, tatNum: 0, pausedUntilUs: 0 };
 * delayOf(rule, taken); // 250
 * ```
 */
export function delayOf(rule: QueueRule, answer: QueueAnswer, cost = 0): number {
  if (cost > rule.burst) return Infinity;
  const { tatUs, tatNum, nowUs } = answer;
  // Doesn't use `measure`, because a shaper calls this after each charge and needs no other number.
  let us = Math.max(nowUs, tatUs) - nowUs - rule.tolUs;
  let num = (tatUs < nowUs ? 0 : tatNum) - rule.tolNum;
  if (cost > 0) {
    const refill = refillTime(rule, cost);
    us += refill.us;
    num += refill.num;
  }
  // Rounds up. The fraction is above -1 and below 2.
  if (num > 0) us += num > rule.den ? 2 : 1;
  return Math.max(0, us) / 1000;
}

type Binding = Ask<Rule> & { readonly binding: boolean };

function startTogether<S extends Binding>(
  steps: readonly S[],
  judge: (step: S, place: number) => Answer,
): readonly S[] {
  const isTogether = ({ op, together, binding, cost, rule }: S): boolean =>
    together === true && op === 'take' && binding && cost > 0 && rule.machine === 'queue';
  const byKey = new Map<string, number[]>();
  for (const [place, step] of steps.entries()) {
    if (!isTogether(step)) continue;
    const { key, rule, cost } = step as Ask<QueueRule>;
    const answer = judge(step, place) as QueueAnswer;
    const us = Math.round(delayOf(rule, answer, cost) * 1000);
    // A cost above the burst never passes, so its group is rejected, and its start doesn't matter.
    byKey.set(key, [...(byKey.get(key) ?? []), us === Infinity ? 0 : answer.nowUs + us]);
  }
  return steps.map((step) => {
    const starts = isTogether(step) ? (byKey.get(step.key) ?? []) : [];
    return starts.length > 1 ? { ...step, startUs: Math.max(...starts) } : step;
  });
}

/** The longest pause: 24 hours. If more than this is left of a pause, the clock went back after it was set. */
export const MAX_HOLD_US: number = 86_400_000_000;

interface QueueState {
  dirty: boolean;
  /** The instant at which the bucket is full again: `us + num / den`. */
  us: number;
  num: number;
  den: number;
  /**
   * The longest `spanUs` of the rules that charged or paused this queue. `us` may be this much later than now or the
   * end of a pause. If it is later, the clock went back.
   */
  spanUs: number;
  pauseUs: number;
}

function noQueue(): QueueState {
  return { dirty: false, us: 0, num: 0, den: 1, spanUs: 0, pauseUs: 0 };
}

/** When the state expires. It then equals the state of an unused key. */
function restOf({ us, num, pauseUs }: QueueState): number {
  return Math.max(num > 0 ? us + 1 : us, pauseUs);
}

/** {@link stepBucket} explains `charge`. */
function stepQueue(
  ask: Ask<QueueRule>,
  state: QueueState,
  nowUs: number,
  charge: boolean,
): QueueAnswer {
  const allowed = change(ask, state, nowUs, charge);
  const { us, num, pauseUs } = state;
  const pausedUntilUs = pauseUs > nowUs ? pauseUs : 0;
  return { allowed, nowUs, tatUs: us, tatNum: num, pausedUntilUs };
}

function change(ask: Ask<QueueRule>, state: QueueState, nowUs: number, charge: boolean): boolean {
  const { op, rule, cost, holdUs = 0, startUs = 0 } = ask;
  if (op === 'reset') {
    resetState(state, nowUs);
    state.dirty = true;
    return true;
  }
  const wasAhead = view(rule, state, nowUs);
  if (op === 'put') return put(ask, state, nowUs);
  if (op === 'hold') {
    if (holdUs > 0) holdQueue(rule, state, nowUs + Math.min(holdUs, MAX_HOLD_US));
    return true;
  }
  if (cost === 0) return true;

  const latestUs = nowUs + rule.tolUs + rule.waitUs;
  const from = startUs > state.us ? { us: startUs, num: 0 } : state;
  const after = afterCharge(rule, from, cost);
  const fits = !isLater(after, latestUs, rule.tolNum);
  const passes = cost <= rule.burst && fits;
  if (op === 'take' && !(passes && charge))
    state.dirty = wasAhead; // a repaired state is stored although nothing is charged
  else if (op !== 'look') {
    if (fits) setTo(state, after.us, after.num);
    else raise(state, latestUs, rule.tolNum);
    markChanged(rule, state);
  }
  return passes;
}

/**
 * Prepares `state` for a step of the rule:
 *
 * - An expired state becomes the state of an unused key, with the instant `nowUs`.
 * - The instant gets the rule's denominator. If the denominator changes, a fraction is rounded up to a microsecond.
 * - If the clock went back so far that the state is impossible, the instant and the end of the pause are moved back.
 * - During a pause, the instant is raised to at least `leadUs` after the end of the pause.
 *
 * Returns whether the instant or the end of the pause was moved back.
 */
function view(rule: QueueRule, state: QueueState, nowUs: number): boolean {
  if (restOf(state) <= nowUs) resetState(state, nowUs);
  if (state.den !== rule.den) {
    // Rounded up: rounding down could start a unit too early.
    if (state.num > 0) setTo(state, state.us + 1, 0);
    state.den = rule.den;
  }
  const wasAhead = cut(state, nowUs);
  if (state.pauseUs > nowUs) raise(state, state.pauseUs + rule.leadUs, rule.leadNum);
  return wasAhead;
}

/**
 * Moves the end of the pause back to at most 24 hours from now, and the instant to at most `spanUs` after the later of
 * now and that end. Returns whether either was moved; if so, the clock went back.
 */
function cut(state: QueueState, nowUs: number): boolean {
  const { pauseUs } = state;
  state.pauseUs = Math.min(pauseUs, nowUs + MAX_HOLD_US);
  const latestUs = Math.max(nowUs, state.pauseUs) + state.spanUs;
  const isAhead = isLater(state, latestUs, 0);
  if (isAhead) setTo(state, latestUs, 0);
  return isAhead || state.pauseUs < pauseUs;
}

/** Gives back a take only if it is the last one, because the starts of later takes are already decided. */
function put({ rule, cost, receipt }: Ask<QueueRule>, state: QueueState, nowUs: number): boolean {
  if (receipt?.atUs !== state.us || receipt.num !== state.num || !isLater(state, nowUs, 0)) {
    return false;
  }
  const units = givenBack(cost, receipt);
  if (units === 0) return false;
  const { atUs, num } = restOfBucket(rule, receipt, units);
  if (atUs < nowUs) setTo(state, nowUs, 0);
  else setTo(state, atUs, num);
  if (state.pauseUs > nowUs) raise(state, state.pauseUs + rule.leadUs, rule.leadNum);
  state.dirty = true;
  return true;
}

/** Starts or extends a pause. Units start one by one after it, because the bucket then holds only one unit. */
function holdQueue(rule: QueueRule, state: QueueState, untilUs: number): void {
  state.pauseUs = Math.max(state.pauseUs, untilUs);
  raise(state, state.pauseUs + rule.leadUs, rule.leadNum);
  markChanged(rule, state);
}

function markChanged(rule: QueueRule, state: QueueState): void {
  state.spanUs = Math.max(state.spanUs, rule.spanUs);
  state.dirty = true;
}

interface Instant {
  readonly us: number;
  readonly num: number;
}

function afterCharge({ period, den }: QueueRule, { us, num }: Instant, cost: number): Instant {
  const refill = mulDiv(cost, period, den);
  const sum = num + refill.rest;
  return sum < den
    ? { us: us + refill.whole, num: sum }
    : { us: us + refill.whole + 1, num: sum - den };
}

function isLater(instant: Instant, us: number, num: number): boolean {
  return instant.us > us || (instant.us === us && instant.num > num);
}

function raise(state: QueueState, us: number, num: number): void {
  if (!isLater(state, us, num)) setTo(state, us, num);
}

/** Sets the state of an unused key. It sets each property, because `Object.assign` takes ten times as long. */
function resetState(state: QueueState, nowUs: number): void {
  setTo(state, nowUs, 0);
  state.den = 1;
  state.spanUs = 0;
  state.pauseUs = 0;
}

function setTo(state: QueueState, us: number, num: number): void {
  state.us = us;
  state.num = num;
}

const UNUSED: Readonly<QueueState> = /* @__PURE__ */ noQueue();

const NUMBERS = 5;

/**
 * Shaper queues in memory. The table evicts a slot after the instant `us` of its state. A pause ends at `us` or
 * earlier, so no running pause is lost.
 *
 * The table is flat because with 10,000 keys, storing each state as an object took 1.4 times as long.
 */
class QueueShelf implements Shelf<QueueRule, QueueState> {
  readonly grows = false;
  private readonly keys = new KeySlots(NUMBERS);
  private readonly table = this.keys.table;
  private readonly state = noQueue();
  private slot = -1;

  get size(): number {
    return this.table.size;
  }

  find({ limiter, rule, key }: Ask<QueueRule>, nowUs: number): QueueState | undefined {
    const { state } = this;
    const slot = this.keys.findSlot(limiter, rule, key, nowUs);
    this.slot = slot;
    if (slot < 0) return undefined;
    const { cells } = this.table.slots;
    const at = (NUMBERS + 1) * slot + 1;
    state.us = cells[at] as number;
    state.num = cells[at + 1] as number;
    state.den = cells[at + 2] as number;
    state.spanUs = cells[at + 3] as number;
    state.pauseUs = cells[at + 4] as number;
    return state;
  }

  step({ ask, nowUs, charge, count, other }: ShelfStep<QueueRule, QueueState>): QueueAnswer {
    const { state } = this;
    if (!count) Object.assign(state, other ?? UNUSED);
    state.dirty = false;
    const answer = stepQueue(ask, state, nowUs, charge);
    const isIdle = restOf(state) <= nowUs;
    if (state.dirty && (count || !isIdle)) {
      this.store(count ? this.slot : this.keys.addSlot(nowUs), isIdle ? UNUSED : state);
    }
    return answer;
  }

  expiresAtUs(_: QueueRule, { tatUs, pausedUntilUs }: QueueAnswer): number {
    return Math.max(tatUs + 1, pausedUntilUs);
  }

  reclaim(nowUs: number): void {
    this.table.reclaim(nowUs);
  }

  private store(slot: number, { us, num, den, spanUs, pauseUs }: Readonly<QueueState>): void {
    const { cells } = this.table.slots;
    const at = (NUMBERS + 1) * slot + 1;
    cells[at] = us;
    cells[at + 1] = num;
    cells[at + 2] = den;
    cells[at + 3] = spanUs;
    cells[at + 4] = pauseUs;
  }
}

const FORM = /^(\d+):(\d+)(?::(\d+)(?::(\d+):(\d+))?)?$/;

export const queueForm: TextForm<QueueState> = {
  copies: true,
  unused: noQueue,
  read(text) {
    const [us = 0, spanUs = 0, pauseUs = 0, num = 0, den = 0] = numbersOf(text, FORM);
    return { dirty: false, us, num, den: Math.max(den, 1), spanUs, pauseUs };
  },
  step: stepQueue,
  expiresUs: restOf,
  text({ us, num, den, spanUs, pauseUs }) {
    if (num > 0) return `${us}:${spanUs}:${pauseUs}:${num}:${den}`;
    return pauseUs > 0 ? `${us}:${spanUs}:${pauseUs}` : `${us}:${spanUs}`;
  },
};
