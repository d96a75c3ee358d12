import type { Answer, Step } from '@spillway/core';
import type { DirectClient, Eventually } from '@spillway/core/direct';
import {
  delayOf,
  type Lease,
  type LeasesAnswer,
  type QueueAnswer,
  type QueueRule,
  receiptFrom,
} from '@spillway/core/store';
import { type Cost, type Paces, periodOf } from './paces.js';
import { PauseCheckTime } from './pause-check-time.js';
import type { PendingCalls } from './pending-calls.js';
import type { Permit, Permits } from './permits.js';
import { type StoreTime, StoreTimes } from './store-time.js';

export class Instant {
  private readonly us: number;
  private readonly time: StoreTime | undefined;

  constructor(us: number, time: StoreTime | undefined) {
    this.us = us;
    this.time = time;
  }

  /**
   * The same instant by this process's clock. Each answer can change it a little, as the store's clock becomes better
   * known.
   */
  get localUs(): number {
    return this.time ? this.us - this.time.offsetUs : this.us;
  }

  plus(us: number): Instant {
    return new Instant(this.us + us, this.time);
  }

  /** Whether this instant is earlier. The result is exact if both instants are by the same clock. */
  isBefore(other: Instant): boolean {
    return this.time === other.time ? this.us < other.us : this.localUs < other.localUs;
  }
}

/** A start time that one job or reservation can use. */
export interface Slot {
  readonly key: string;
  readonly cost: Cost;
  readonly at: Instant;
  /** Whether the in-process fallback granted the slot, because the store did not answer. */
  readonly isLocal: boolean;
  readonly steps: readonly Step[];
  readonly answers: readonly Answer[];
  readonly permit: Permit | undefined;
}

/**
 * The longest time per unit among the paces, as it was when the slot was taken. Live settings may have changed it
 * since.
 */
export function periodUsOf({ steps }: Pick<Slot, 'steps'>): number {
  return Math.max(...steps.map(({ rule }) => periodOf(rule as QueueRule)));
}

export interface SlotAnswer {
  readonly key: string;
  readonly cost: Cost;
  readonly steps: readonly Step[];
  readonly answers: readonly Answer[];
  /** When the steps were sent, by this process's clock. The store decided at this time or later. */
  readonly askedUs: number;
  readonly receivedUs: number;
  readonly failure: Error | undefined;
  /** Whether the store failed and there is no fallback. */
  readonly isUnknown: boolean;
  readonly pausedUntil: Instant | undefined;
  readonly slot: Slot | undefined;
  /** How long until a job of this cost may start; Infinity if unknown. */
  readonly waitMs: number;
  /** With `maxConcurrent`: how many permits are taken, in all processes; undefined if unknown. */
  readonly running: number | undefined;
  readonly lacksPermit: boolean;
}

/**
 * `kept`: the slot stays taken, because a later slot of its key is taken, or because it has passed. `unknown`: the
 * store did not answer.
 */
type Cancelled = 'done' | 'kept' | 'unknown';

interface Question {
  readonly key: string;
  readonly cost: Cost;
  readonly steps: readonly Step[];
  readonly permitStep?: Step | undefined;
  readonly bookingStep?: Step | undefined;
  readonly permit?: Permit | undefined;
}

export class SlotClient {
  readonly checkTime: PauseCheckTime = new PauseCheckTime();
  readonly pending: PendingCalls;
  private readonly client: DirectClient;
  private readonly paces: Paces;
  private readonly permits: Permits | undefined;
  private readonly times: StoreTimes | undefined;
  private readonly phase: number;

  /**
   * @param phase the fallback delays its slots by this fraction of the longest delay, from 0 up to 1. With equal
   * fractions, all processes of an idle fleet would start jobs together when the store fails.
   */
  constructor(
    client: DirectClient,
    paces: Paces,
    permits: Permits | undefined,
    pending: PendingCalls,
    phase: number,
  ) {
    const { store } = client;
    this.client = client;
    this.paces = paces;
    this.permits = permits;
    this.pending = pending;
    this.times = store.hasOurTime ? undefined : new StoreTimes(store.store);
    this.phase = phase;
  }

  nowUs(): number {
    return this.client.store.clock.nowUs();
  }

  /**
   * The step that takes a slot, if {@link takeNow} can send it: with one pace and a memory store that uses this
   * process's clock.
   *
   * @throws SpillwayError `SPW_KEY_INVALID`
   */
  plainTake(key: string, cost: Cost): Step | undefined {
    return this.client.store.hasOurTime ? this.paces.onlyTake(key, cost) : undefined;
  }

  /** Like {@link takeSlot}, but answers at once. Returns undefined if {@link takeSlot} must be called. */
  takeNow(step: Step): QueueAnswer | undefined {
    const answer = this.client.store.link.askNow(step) as QueueAnswer | undefined;
    if (answer) this.checkTime.learn(0, answer.pausedUntilUs || -Infinity);
    return answer;
  }

  takeSlot<Value>(key: string, cost: Cost, then: (answer: SlotAnswer) => Value): Eventually<Value> {
    return this.sendSteps({ key, cost, steps: this.paces.stepsOf('take', key, cost) }, then);
  }

  /**
   * Takes a slot that is due soon, together with a permit unless `permit` is given. Takes both or neither.
   *
   * @param lease of the permit, if it is booked
   */
  takeDueSlot<Value>(
    key: string,
    cost: Cost,
    permit: Permit | undefined,
    lease: Lease | undefined,
    then: (answer: SlotAnswer) => Value,
  ): Eventually<Value> {
    const permitStep = permit ? undefined : this.permits?.takeStep(key, lease);
    return this.sendSteps(
      { key, cost, steps: this.paces.dueStepsOf(key, cost), permitStep, permit },
      then,
    );
  }

  /** Reads the queue and the pause of a key, and takes nothing. */
  peek<Value>(key: string, then: (answer: SlotAnswer) => Value): Eventually<Value> {
    const { one } = this.paces;
    return this.sendSteps({ key, cost: one, steps: this.paces.stepsOf('look', key, one) }, then);
  }

  peekAll<Value>(key: string, then: (answer: SlotAnswer) => Value): Eventually<Value> {
    const { paces, permits } = this;
    const { one } = paces;
    const steps = paces.stepsOf('look', key, one);
    const permitStep = permits?.lookStep(key);
    const bookingStep = permits?.bookingStep(key);
    return this.sendSteps({ key, cost: one, steps, permitStep, bookingStep }, then);
  }

  pause<Value>(
    key: string,
    holdUs: number,
    then: (answer: SlotAnswer) => Value,
  ): Eventually<Value> {
    const { one } = this.paces;
    const steps = this.paces
      .stepsOf('hold', key, one)
      .map((step) => ({ ...step, cost: 0, holdUs }));
    return this.sendSteps({ key, cost: one, steps }, then);
  }

  cancel(slot: Slot): Eventually<Cancelled> {
    slot.permit?.release();
    const puts = slot.steps.map(({ cost }, at) => putOf(slot, at, cost));
    const cancelled = this.client.giveBack(puts, (given): Cancelled => {
      if (!slot.isLocal && given.some(({ failure }) => failure)) return 'unknown';
      return given.every(({ allowed }) => allowed) ? 'done' : 'kept';
    });
    return this.pending.track(cancelled);
  }

  settle(slot: Slot, at: number, units: number): void {
    const more = units - (slot.steps[at] as Step).cost;
    if (more > 0) {
      const step = this.paces.recordStep(slot.key, at, more);
      void this.pending.track(this.client.ask([step], () => undefined));
    } else if (more < 0) {
      void this.pending.track(this.client.giveBack([putOf(slot, at, -more)], () => undefined));
    }
  }

  private sendSteps<Value>(
    asked: Question,
    then: (answer: SlotAnswer) => Value,
  ): Eventually<Value> {
    const { store } = this.client;
    const { steps, permitStep, bookingStep } = asked;
    const only = steps.length === 1 && !permitStep ? (steps[0] as Step) : undefined;
    const answer = only && store.link.askNow(only);
    if (answer) {
      // A store in the memory of this process has just read the same clock.
      const nowUs = store.hasOurTime ? answer.nowUs : this.nowUs();
      return then(this.toSlotAnswer(asked, [answer], nowUs, nowUs));
    }
    const sentUs = this.nowUs();
    const all = [...steps, permitStep, bookingStep].filter((step) => step !== undefined);
    const answered = this.client.ask(all, (answers) => {
      const nowUs = this.nowUs();
      // This process's clock may have been set back meanwhile.
      return then(this.toSlotAnswer(asked, answers, Math.min(sentUs, nowUs), nowUs));
    });
    return this.pending.track(answered);
  }

  private toSlotAnswer(
    asked: Question,
    answers: readonly Answer[],
    askedUs: number,
    receivedUs: number,
  ): SlotAnswer {
    const { key, cost, steps, permitStep } = asked;
    const first = steps[0] as Step;
    const { nowUs } = answers[0] as Answer;
    let failure: Error | undefined;
    let isAllowed = true;
    for (const answer of answers) {
      failure ??= answer.failure;
      isAllowed &&= answer.allowed;
    }
    const isLocal = failure !== undefined;
    const isUnknown = isLocal && typeof first.onStoreError !== 'object';
    // The fallback decides by this process's clock.
    const time = isLocal ? undefined : this.times?.timeFor(first);
    time?.learn(nowUs, askedUs, receivedUs);
    const isGranted = isAllowed && !isUnknown && first.op === 'take';
    let waitMs = isUnknown ? Infinity : 0;
    let pausedUs = 0;
    for (let i = 0; i < steps.length && !isUnknown; i += 1) {
      const step = steps[i] as Step;
      const answer = answers[i] as QueueAnswer;
      // After a grant, this is the wait of the last unit taken, otherwise the wait for the units of this cost.
      const ownMs = delayOf(ruleIn(step, isLocal), answer, isGranted ? 0 : step.cost);
      waitMs = Math.max(waitMs, ownMs);
      pausedUs = Math.max(pausedUs, answer.pausedUntilUs);
    }
    if (isLocal && !isUnknown) waitMs += this.phaseUs(first) / 1_000;
    const pausedUntil = pausedUs > 0 ? new Instant(pausedUs, time) : undefined;
    if (!isUnknown) {
      this.checkTime.learn(receivedUs - askedUs, pausedUntil?.localUs ?? -Infinity);
    }
    const permitAnswer = permitStep && (answers[steps.length] as LeasesAnswer);
    const booked = asked.bookingStep ? (answers[steps.length + 1] as LeasesAnswer).used : 0;
    const granted = permitAnswer && this.permits?.readPermit(permitStep, permitAnswer, isGranted);
    const permit = granted ?? asked.permit;
    // The phase can move a slot of the fallback beyond the longest wait.
    const isExcess = isGranted && isLocal && waitMs * 1_000 > ruleIn(first, true).waitUs;
    const taken = isGranted && {
      key,
      cost,
      at: new Instant(nowUs + Math.round(waitMs * 1_000), time),
      isLocal,
      steps,
      answers,
      permit,
    };
    const isUnusable = isExcess || (!isLocal && permit?.mayHaveExpired(receivedUs - askedUs));
    if (isUnusable && taken) void this.cancel(taken);
    return {
      key,
      cost,
      steps,
      answers,
      askedUs,
      receivedUs,
      failure,
      isUnknown,
      pausedUntil,
      slot: isUnusable || !taken ? undefined : taken,
      waitMs,
      // If the release of a booking was lost, it can outlive its permit.
      running:
        permitAnswer && !permitAnswer.failure ? Math.max(0, permitAnswer.used - booked) : undefined,
      lacksPermit: permitAnswer?.allowed === false,
    };
  }

  /**
   * How long the fallback of this process delays its slots. The delay is at most `maxWait`, because no job could start
   * after a longer delay.
   */
  private phaseUs({ rule, onStoreError }: Step): number {
    const [declared, fallback] = [rule as QueueRule, onStoreError as QueueRule];
    const spreadUs = (fallback.windowUs - declared.windowUs) / fallback.limit;
    return Math.floor(this.phase * Math.min(spreadUs, fallback.waitUs));
  }
}

/** Makes the slot from the answer to a step of {@link SlotClient.plainTake}. */
export function slotOf(step: Step, answer: QueueAnswer, cost: Cost): Slot {
  const { key, rule } = step;
  const at = new Instant(startUsOf(rule as QueueRule, answer), undefined);
  return { key, cost, at, isLocal: false, steps: [step], answers: [answer], permit: undefined };
}

export function startUsOf(rule: QueueRule, answer: QueueAnswer): number {
  return answer.nowUs + Math.round(delayOf(rule, answer) * 1_000);
}

/** How long a job of the answer's cost would wait if jobs of so many units in each pace started before it. */
export function waitBehind(
  { steps, answers, failure, isUnknown, waitMs }: SlotAnswer,
  units: readonly number[],
): number {
  if (isUnknown) return waitMs;
  const waits = steps.map((step, at) => {
    const rule = ruleIn(step, failure !== undefined);
    const answer = answers[at] as QueueAnswer;
    const aheadUs = Math.ceil((units[at] as number) * periodOf(rule));
    const tatUs = Math.max(answer.tatUs, answer.nowUs) + aheadUs;
    return delayOf(rule, { ...answer, tatUs }, step.cost);
  });
  return Math.max(waitMs, ...waits);
}

function putOf({ steps, answers }: Slot, at: number, units: number): Step {
  const step = steps[at] as Step;
  const receipt = receiptFrom(step.rule, answers[at] as Answer, step.cost);
  return { ...step, op: 'put', cost: units, receipt };
}

function ruleIn({ rule, onStoreError }: Step, isLocal: boolean): QueueRule {
  return (isLocal ? onStoreError : rule) as QueueRule;
}
