/** The slots of a shaper: asked of the store, and given back to it. */

import { delayOf } from '../../algorithms/queue/measure.js';
import { receiptFrom } from '../../algorithms/receipt.js';
import type { Answer, QueueAnswer } from '../../contract/answer.js';
import type { QueueRule } from '../../contract/rule.js';
import type { Step } from '../../contract/store.js';
import { StoreTimes } from '../../stores/store-time.js';
import type { DirectClient, Eventually } from '../direct-client.js';
import type { Limit } from '../limit.js';
import { LookAhead } from './look-ahead.js';
import { Moment } from './moment.js';

/** When work of a key may start, once. */
export interface Slot {
  readonly key: string;
  /** The most units that the work may cost. */
  readonly cost: number;
  readonly at: Moment;
  /** Whether the stand-in granted it, because the store did not answer. */
  readonly isLocal: boolean;
  /** What it was taken by. */
  readonly step: Step;
  readonly answer: Answer;
}

/** What an answer tells about a key. */
export interface Heard {
  readonly key: string;
  /** When it was asked, by our clock: what it tells is no older. */
  readonly askedUs: number;
  /** When its answer was read, by our clock. */
  readonly heardUs: number;
  /** Why the store did not answer: policy has. */
  readonly failure: Error | undefined;
  /** Whether nobody knows anything of the key: the store failed, and policy is to refuse. */
  readonly isUnknown: boolean;
  readonly pausedUntil: Moment | undefined;
  /** Of a take that was granted. */
  readonly slot: Slot | undefined;
  /** How long it would be until the cost may start; Infinity if nobody knows. */
  readonly waitMs: number;
}

/** What came of giving a slot back. `kept`: others wait for later ones. `unknown`: the store did not answer. */
type GivenBack = 'done' | 'kept' | 'unknown';

export class Slots {
  readonly ahead: LookAhead = new LookAhead();
  private readonly client: DirectClient;
  private readonly limit: Limit;
  /** How far the clocks that decide are from ours. */
  private readonly times: StoreTimes;

  constructor(client: DirectClient, limit: Limit) {
    this.client = client;
    this.limit = limit;
    this.times = new StoreTimes(client.store.store);
  }

  nowUs(): number {
    return this.client.store.clock.nowUs();
  }

  /** @throws SpillwayError `SPW_KEY_INVALID` */
  take<Value>(key: string, cost: number, then: (heard: Heard) => Value): Eventually<Value> {
    return this.ask(this.limit.step('take', key, cost), then);
  }

  /**
   * Takes a slot of the first key whose wait is not too long.
   *
   * @param then told of the key that was taken, or else of the one with the shortest wait
   * @throws SpillwayError `SPW_KEY_INVALID`, `SPW_GROUP_TOO_LARGE`
   */
  takeFirst<Value>(
    keys: readonly string[],
    cost: number,
    then: (heard: Heard) => Value,
  ): Eventually<Value> {
    const askedUs = this.nowUs();
    const steps = keys.map((key, at) => ({
      ...this.limit.step('take', key, cost),
      branch: at + 1,
    }));
    return this.client.ask(steps, (answers) => {
      const heardUs = this.nowUs();
      const charged = (answers[0]?.branch ?? 0) - 1;
      const heard = answers.map((answer, at) =>
        this.heard(steps[at] as Step, answer, askedUs, heardUs, at === charged),
      );
      const shortest = heard.reduce((best, one) => (one.waitMs < best.waitMs ? one : best));
      return then(heard[charged] ?? shortest);
    });
  }

  /** @throws SpillwayError `SPW_KEY_INVALID` */
  look<Value>(key: string, then: (heard: Heard) => Value): Eventually<Value> {
    return this.ask(this.limit.step('look', key), then);
  }

  /**
   * Nobody starts for so many microseconds.
   *
   * @throws SpillwayError `SPW_KEY_INVALID`
   */
  hold<Value>(key: string, holdUs: number, then: (heard: Heard) => Value): Eventually<Value> {
    return this.ask({ ...this.limit.step('hold', key, 0), holdUs }, then);
  }

  giveBack(slot: Slot): Eventually<GivenBack> {
    return this.client.giveBack([putOf(slot)], ([answer]) => {
      const { allowed, failure } = answer as Answer;
      if (failure && !slot.isLocal) return 'unknown';
      return allowed ? 'done' : 'kept';
    });
  }

  private ask<Value>(step: Step, then: (heard: Heard) => Value): Eventually<Value> {
    const askedUs = this.nowUs();
    const answer = this.client.store.askNow(step);
    if (answer) return then(this.heard(step, answer, askedUs, askedUs));
    return this.client.ask([step], ([later]) =>
      then(this.heard(step, later as Answer, askedUs, this.nowUs())),
    );
  }

  private heard(
    step: Step,
    given: Answer,
    askedUs: number,
    heardUs: number,
    isTaken = true,
  ): Heard {
    const answer = given as QueueAnswer;
    const { key, cost } = step;
    const { failure, nowUs, pausedUntilUs } = answer;
    if (failure && step.onStoreError === 'deny') return unknown(key, askedUs, heardUs, failure);
    // The stand-in goes by our clock.
    const time = failure ? undefined : this.times.of(step);
    time?.learn(nowUs, heardUs);
    const pausedUntil = pausedUntilUs > 0 ? new Moment(pausedUntilUs, time) : undefined;
    this.ahead.hear(heardUs - askedUs, pausedUntil?.localUs ?? -Infinity);
    const isGranted = step.op === 'take' && answer.allowed && isTaken;
    // Of what was granted, the wait of the last unit; else that of so many more.
    const waitMs = delayOf(ruleOf(step, answer), answer, isGranted ? 0 : cost);
    const at = isGranted ? new Moment(nowUs + Math.round(waitMs * 1_000), time) : undefined;
    return {
      key,
      askedUs,
      heardUs,
      failure,
      isUnknown: false,
      pausedUntil,
      slot: at && { key, cost, at, isLocal: failure !== undefined, step, answer },
      waitMs,
    };
  }
}

function unknown(key: string, askedUs: number, heardUs: number, failure: Error): Heard {
  const nothing = { pausedUntil: undefined, slot: undefined, waitMs: Infinity };
  return { key, askedUs, heardUs, failure, isUnknown: true, ...nothing };
}

/** The rule by which the answer was made. */
function ruleOf({ rule, onStoreError }: Step, { failure }: Answer): QueueRule {
  return (failure && typeof onStoreError === 'object' ? onStoreError : rule) as QueueRule;
}

/** The step that gives a slot back. */
function putOf({ step: { branch: _, ...step }, answer }: Slot): Step {
  return { ...step, op: 'put', receipt: receiptFrom(step.rule, answer, step.cost) };
}
