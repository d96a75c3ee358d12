import { measure } from '../algorithms/decide.js';
import { receiptOfRest, receiptOfStep, unitsOf } from '../algorithms/receipt.js';
import { isSpillwayError } from '../base/errors.js';
import type { Numbers } from '../contract/decision.js';
import type { Settling } from '../contract/limiter-turn.js';
import type { UnitsKind } from '../contract/observer.js';
import type { Answer } from '../contract/rule.js';
import type { Step } from '../contract/store.js';
import type { Resends } from './resends.js';

export interface ChargeContext {
  readonly limiter: string;
  readonly settling: Settling;
  readonly resends: Resends;
  readonly onForgiven: () => void;
}

export class Charge {
  readonly reserved: number;
  numbers: Numbers;
  private sentUnits: number;
  /** The units of `sentUnits` that were forgiven or lost, and so not charged. */
  private uncharged = 0;
  /** For each charge, the step that would refund it. Newest last. */
  private readonly puts: Step[] = [];
  private waiting = 0;
  /** How many of the units that wait to be resent are no longer owed. If the store charges them, they are refunded. */
  private surplus = 0;
  private inFlight = 0;
  private readonly whenAnswered: (() => void)[] = [];
  private readonly step: Step;
  /** Whether this process admitted the request without the store. Then only its fallback counters have the charge. */
  private readonly isLocal: boolean;
  private readonly context: ChargeContext;

  constructor(step: Step, answer: Answer, numbers: Numbers, context: ChargeContext) {
    this.step = step;
    this.context = context;
    this.numbers = numbers;
    this.reserved = unitsOf(step);
    this.sentUnits = this.reserved;
    this.isLocal = answer.failure !== undefined;
    this.puts.push(putOf(step, answer));
    this.tell('reserved', this.reserved);
    this.forgive(answer.forgiven);
  }

  excessOver(units: number): number {
    return this.sentUnits - units;
  }

  isKnown(units: number): boolean {
    return this.sentUnits === units && this.uncharged === 0 && this.inFlight === 0 && !this.isLocal;
  }

  /**
   * Changes the charge to `units`. Returns the step to send, if any, or a promise if the step depends on an answer in
   * flight.
   *
   * One call can't refund the same count twice. So if several refunds are needed, all but the first are sent here, each
   * in a separate call.
   */
  settleAt(units: number): readonly Step[] | Promise<readonly Step[]> {
    if (units >= this.sentUnits || this.inFlight === 0) return this.stepsTo(units);
    return new Promise<void>((resolve) => this.whenAnswered.push(resolve)).then(() =>
      this.stepsTo(units),
    );
  }

  settleNow(units: number): Promise<unknown> | undefined {
    return this.send(this.settleAt(units));
  }

  send(steps: readonly Step[] | Promise<readonly Step[]>): Promise<unknown> | undefined {
    const { releases } = this.context.settling;
    if (!('then' in steps)) return releases.giveBack(steps);
    return releases.track(steps.then((own) => releases.giveBack(own)));
  }

  tell(kind: UnitsKind, units: number): void {
    const { limiter, settling } = this.context;
    if (units > 0) settling.observers.units({ limiter, kind, units });
  }

  private stepsTo(units: number): readonly Step[] {
    const { resends, settling } = this.context;
    resends.keepUp();
    const more = units - this.sentUnits;
    this.sentUnits = units;
    this.tell(more > 0 ? 'added' : 'returned', Math.abs(more));
    if (more > 0) return [this.first({ ...this.step, op: 'record', cost: more, owed: 0 })];
    const [put, ...others] = this.givingBack(-more);
    for (const other of others) void settling.releases.giveBack([other]);
    return put ? [put] : [];
  }

  /**
   * Takes back `units` in this order:
   *
   * 1. units that were never charged
   * 2. charges that wait to be resent, which may never need a refund
   * 3. all other charges, newest first, because a bucket may have refilled older ones
   *
   * Returns the steps that refund the third kind.
   */
  private givingBack(units: number): readonly Step[] {
    const free = Math.min(units, this.uncharged);
    this.uncharged -= free;
    const later = Math.min(units - free, this.waiting - this.surplus);
    this.surplus += later;
    let left = units - free - later;
    const steps: Step[] = [];
    while (left > 0) {
      const last = this.puts.pop();
      if (!last) break;
      const put = { ...last, cost: Math.min(left, last.cost) };
      const receipt = receiptOfRest(put);
      if (receipt) this.puts.push({ ...last, cost: receipt.units, receipt });
      left -= put.cost;
      if (put.cost > 0) steps.push(this.first(put));
    }
    return steps;
  }

  private first(step: Step): Step {
    this.inFlight += 1;
    return this.listening(step, (own, answer) => {
      this.inFlight -= 1;
      this.hear(own, answer, false);
      if (this.inFlight === 0) for (const resolve of this.whenAnswered.splice(0)) resolve();
    });
  }

  private listening(step: Step, hear: (step: Step, answer: Answer) => void): Step {
    const own: Step = { ...step, binding: false, answered: (answer) => hear(own, answer) };
    return own;
  }

  private hear(step: Step, answer: Answer, isLastTry: boolean, untilUs?: number): void {
    const { failure } = answer;
    this.context.resends.delete(step);
    if (failure && !this.isLocal) {
      this.retry(step, failure, isLastTry, untilUs);
      return;
    }
    if (step.op === 'record') {
      if (!failure) this.puts.push(putOf(step, answer));
      this.forgive(answer.forgiven);
    }
    if (!failure) this.numbers = measure(step.rule, answer, 0);
  }

  /**
   * Resends a failed step or gives it up. If the step certainly was not sent, it is resent. Otherwise, a charge is
   * resent once and may then count twice, and a refund is given up.
   *
   * @param untilUs when the step is given up; undefined for a step that was never resent
   */
  private retry(step: Step, failure: Error, isLastTry: boolean, untilUs?: number): void {
    const { resends } = this.context;
    const endUs = untilUs ?? resends.endUs;
    const isCharge = step.op === 'record';
    const lose = (): void => {
      if (!isCharge) return;
      const units = step.cost - Math.min(step.cost, this.surplus);
      this.surplus -= step.cost - units;
      this.uncharged += units;
      this.tell('lost', units);
    };
    const isSent = !isUnsent(failure);
    if (isSent && (isLastTry || !isCharge)) {
      lose();
      return;
    }
    const waiting = isCharge ? step.cost : 0;
    let isGivenUp = false;
    this.waiting += waiting;
    // `allow` bypasses the fallback counters, which have already counted the step.
    const again = this.listening({ ...step, onStoreError: 'allow' }, (own, answer) => {
      if (isGivenUp) return; // the step was given up while it was in flight, and is counted as lost
      this.waiting -= waiting;
      this.hear(own, answer, isLastTry || isSent, endUs);
      this.returnSurplus();
    });
    resends.addSettlement(again, endUs, () => {
      isGivenUp = true;
      this.waiting -= waiting;
      lose();
      this.returnSurplus();
    });
  }

  private returnSurplus(): void {
    const { surplus } = this;
    this.surplus = 0;
    for (const put of this.givingBack(surplus)) void this.context.settling.releases.giveBack([put]);
  }

  private forgive(units = 0): void {
    if (units === 0) return;
    this.uncharged += units;
    this.tell('forgiven', units);
    this.context.onForgiven();
  }
}

function putOf(step: Step, answer: Answer): Step {
  const receipt = receiptOfStep(step, answer);
  return { ...step, op: 'put', cost: receipt.units, owed: 0, receipt };
}

/** Whether the call certainly was not sent: its breaker is open, or its client has no connection. */
function isUnsent(failure: Error): boolean {
  if (!isSpillwayError(failure)) return false;
  const { code, kind } = failure;
  return kind === 'unsent' || (code === 'SPW_STORE_UNAVAILABLE' && !('cause' in failure));
}
