/** Takes slots from the store, cancels them, and reads what the store answers about a key. */

import type { Answer, Step } from '@spillway/core';
import { type DirectClient, type Eventually, isThenable, type Limit } from '@spillway/core/direct';
import { delayOf, type QueueAnswer, type QueueRule, receiptFrom } from '@spillway/core/store';
import { PauseCheckTime } from './pause-check-time.js';
import type { LivePace } from './shaper-options.js';
import { type StoreTime, StoreTimes } from './store-time.js';

/** An instant on the clock of a store, or on ours. */
export class Instant {
  private readonly us: number;
  private readonly time: StoreTime | undefined;

  /** @param time of the store whose clock this is; undefined: ours */
  constructor(us: number, time: StoreTime | undefined) {
    this.us = us;
    this.time = time;
  }

  /** When it comes by our clock. Each answer can change it a little, as more is known about the store's clock. */
  get localUs(): number {
    return this.time ? this.us - this.time.offsetUs : this.us;
  }

  plus(us: number): Instant {
    return new Instant(this.us + us, this.time);
  }

  /** Exact for instants of the same clock. */
  isBefore(other: Instant): boolean {
    return this.time === other.time ? this.us < other.us : this.localUs < other.localUs;
  }
}

/** A start that one job or reservation can have. */
export interface Slot {
  readonly key: string;
  readonly cost: number;
  readonly at: Instant;
  /** Whether the in-process fallback granted it, because the store did not answer. */
  readonly isLocal: boolean;
  /** The step that took it. */
  readonly step: Step;
  readonly answer: Answer;
}

/** The time of one unit under the rule with which the slot was taken: live settings can change the pace. */
export function periodUsOf({ step }: Pick<Slot, 'step'>): number {
  const { windowUs, limit } = step.rule as QueueRule;
  return windowUs / limit;
}

/** The store's answer about a key, or the fallback's. */
export interface SlotAnswer {
  readonly key: string;
  readonly step: Step;
  /** When the step was sent, by our clock: the answer is at least as new. */
  readonly askedUs: number;
  /** When the answer arrived, by our clock. */
  readonly receivedUs: number;
  /** Why the store did not answer. */
  readonly failure: Error | undefined;
  /** Whether the store failed and there is no fallback. */
  readonly isUnknown: boolean;
  readonly pausedUntil: Instant | undefined;
  /** Granted by a `take`. */
  readonly slot: Slot | undefined;
  /** How long until the cost may start; Infinity if unknown. */
  readonly waitMs: number;
}

/** `kept`: later slots of this key are taken. `unknown`: the store did not answer. */
type Cancelled = 'done' | 'kept' | 'unknown';

export class SlotClient {
  readonly checkTime: PauseCheckTime = new PauseCheckTime();
  readonly pending: PendingCalls = new PendingCalls();
  private readonly client: DirectClient;
  private readonly limit: Limit;
  private readonly pace: LivePace;
  /** The clocks of the store; undefined if our clock decides. */
  private readonly times: StoreTimes | undefined;
  private readonly phase: number;

  /**
   * @param phase where in its fallback period this process starts, from 0 up to 1. Without it, all processes of an idle
   * fleet would start together when the store fails.
   */
  constructor(client: DirectClient, limit: Limit, pace: LivePace, phase: number) {
    const { store } = client;
    this.client = client;
    this.limit = limit;
    this.pace = pace;
    this.times = store.hasOurTime ? undefined : new StoreTimes(store.store);
    this.phase = phase;
  }

  nowUs(): number {
    return this.client.store.clock.nowUs();
  }

  /** @throws SpillwayError `SPW_KEY_INVALID` */
  takeSlot<Value>(
    key: string,
    cost: number,
    then: (answer: SlotAnswer) => Value,
  ): Eventually<Value> {
    return this.sendStep(this.slotStep('take', key, cost), then);
  }

  /**
   * Reads the queue and the pause of a key, and takes nothing.
   *
   * @throws SpillwayError `SPW_KEY_INVALID`
   */
  peek<Value>(key: string, then: (answer: SlotAnswer) => Value): Eventually<Value> {
    return this.sendStep(this.slotStep('look', key, 1), then);
  }

  /** @throws SpillwayError `SPW_KEY_INVALID` */
  pause<Value>(
    key: string,
    holdUs: number,
    then: (answer: SlotAnswer) => Value,
  ): Eventually<Value> {
    return this.sendStep({ ...this.slotStep('hold', key, 0), holdUs }, then);
  }

  cancel({ step, answer, isLocal }: Slot): Eventually<Cancelled> {
    const put: Step = { ...step, op: 'put', receipt: receiptFrom(step.rule, answer, step.cost) };
    const cancelled = this.client.giveBack([put], ([putAnswer]): Cancelled => {
      const { allowed, failure } = putAnswer as Answer;
      if (failure && !isLocal) return 'unknown';
      return allowed ? 'done' : 'kept';
    });
    return this.pending.track(cancelled);
  }

  private slotStep(op: Step['op'], key: string, cost: number): Step {
    const step = this.limit.step(op, key, cost);
    const { rule, onStoreError } = this.pace.paceFor(key);
    return rule === step.rule ? step : { ...step, rule, onStoreError };
  }

  private sendStep<Value>(step: Step, then: (answer: SlotAnswer) => Value): Eventually<Value> {
    const { store } = this.client;
    const answer = store.link.askNow(step);
    if (answer) {
      // A store in our memory has just read our clock.
      const nowUs = store.hasOurTime ? answer.nowUs : this.nowUs();
      return then(this.toSlotAnswer(step, answer, nowUs, nowUs));
    }
    const askedUs = this.nowUs();
    const answered = this.client.ask([step], ([later]) =>
      then(this.toSlotAnswer(step, later as Answer, askedUs, this.nowUs())),
    );
    return this.pending.track(answered);
  }

  private toSlotAnswer(step: Step, raw: Answer, askedUs: number, receivedUs: number): SlotAnswer {
    const answer = raw as QueueAnswer;
    const { key, cost, onStoreError } = step;
    const { nowUs, pausedUntilUs, failure } = answer;
    const isUnknown = failure !== undefined && typeof onStoreError !== 'object';
    const rule = (failure && !isUnknown ? onStoreError : step.rule) as QueueRule;
    // The fallback decides by our clock.
    const time = failure ? undefined : this.times?.timeFor(step);
    time?.learn(nowUs, askedUs, receivedUs);
    const isGranted = !isUnknown && step.op === 'take' && answer.allowed;
    // If granted, the wait of the last unit taken; otherwise the wait of as many units more.
    const queueMs = isUnknown ? Infinity : delayOf(rule, answer, isGranted ? 0 : cost);
    const phaseUs = failure && !isUnknown ? this.phaseUs(step.rule as QueueRule, rule) : 0;
    const waitUs = queueMs * 1_000 + phaseUs;
    const isLocal = failure !== undefined;
    const at = isGranted ? new Instant(nowUs + Math.round(waitUs), time) : undefined;
    const slot = at && { key, cost, at, isLocal, step, answer };
    const pausedUntil =
      !isUnknown && pausedUntilUs > 0 ? new Instant(pausedUntilUs, time) : undefined;
    if (!isUnknown) {
      this.checkTime.learn(receivedUs - askedUs, pausedUntil?.localUs ?? -Infinity);
    }
    // Its phase can put a slot of the fallback beyond the longest wait.
    const isExcess = slot !== undefined && isLocal && waitUs > rule.waitUs;
    if (isExcess) void this.cancel(slot);
    return {
      key,
      step,
      askedUs,
      receivedUs,
      failure,
      isUnknown,
      pausedUntil,
      slot: isExcess ? undefined : slot,
      waitMs: phaseUs === 0 ? queueMs : waitUs / 1_000,
    };
  }

  /** At most the longest wait. Otherwise a process with a late phase would start nothing. */
  private phaseUs(declared: QueueRule, fallback: QueueRule): number {
    const spreadUs = (fallback.windowUs - declared.windowUs) / fallback.limit;
    return Math.floor(this.phase * Math.min(spreadUs, fallback.waitUs));
  }
}

/** Counts calls until they settle. */
class PendingCalls {
  private count = 0;
  private whenNone: (() => void) | undefined;
  private readonly settled = (): void => {
    this.count -= 1;
    if (this.count === 0) this.whenNone?.();
  };

  get isAny(): boolean {
    return this.count > 0;
  }

  track<Value>(call: Eventually<Value>): Eventually<Value> {
    if (isThenable(call)) {
      this.count += 1;
      (call as Promise<Value>).then(this.settled, this.settled);
    }
    return call;
  }

  /** Resolves when no call is pending. */
  async whenIdle(): Promise<void> {
    if (!this.isAny) return;
    await new Promise<void>((resolve) => {
      this.whenNone = resolve;
    });
  }
}
