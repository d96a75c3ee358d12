/** The slots of a shaper: asked of the store, and given back to it. */

import { delayOf } from '../../algorithms/queue/measure.js';
import { receiptFrom } from '../../algorithms/receipt.js';
import type { Answer, QueueAnswer } from '../../contract/answer.js';
import type { QueueRule } from '../../contract/rule.js';
import type { Step } from '../../contract/store.js';
import type { DirectClient, Eventually } from '../direct-client.js';
import type { Limit } from '../limit.js';
import { Moment } from './moment.js';

/** When work of a key may start, once. */
export interface Slot {
  readonly key: string;
  /** The most units that the work may cost. */
  readonly cost: number;
  readonly at: Moment;
  /** Whether the stand-in granted it, because the store did not answer. */
  readonly isLocal: boolean;
  /** The step that gives it back. */
  readonly put: Step;
}

/** What an answer tells about a key. */
export interface Heard {
  readonly key: string;
  /** When it was asked, by our clock: what it tells is no older. */
  readonly askedUs: number;
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
  private readonly client: DirectClient;
  private readonly limit: Limit;

  constructor(client: DirectClient, limit: Limit) {
    this.client = client;
    this.limit = limit;
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
      const charged = (answers[0]?.branch ?? 0) - 1;
      const heard = answers.map((answer, at) =>
        this.heard(steps[at] as Step, answer, askedUs, at === charged),
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

  giveBack({ put, isLocal }: Slot): Eventually<GivenBack> {
    return this.client.giveBack([put], ([answer]) => {
      const { allowed, failure } = answer as Answer;
      if (failure && !isLocal) return 'unknown';
      return allowed ? 'done' : 'kept';
    });
  }

  private ask<Value>(step: Step, then: (heard: Heard) => Value): Eventually<Value> {
    const askedUs = this.nowUs();
    const answer = this.client.store.askNow(step);
    if (answer) return then(this.heard(step, answer, askedUs));
    return this.client.ask([step], ([later]) => then(this.heard(step, later as Answer, askedUs)));
  }

  private heard(step: Step, given: Answer, askedUs: number, isTaken = true): Heard {
    const answer = given as QueueAnswer;
    const { key, cost } = step;
    const { failure, allowed } = answer;
    const isUnknown = failure !== undefined && step.onStoreError === 'deny';
    const told = { key, askedUs, failure, isUnknown };
    if (isUnknown) return { ...told, pausedUntil: undefined, slot: undefined, waitMs: Infinity };
    const momentOf = this.momentsOf(step, answer);
    const { pausedUntilUs } = answer;
    const pausedUntil = pausedUntilUs > 0 ? momentOf(pausedUntilUs) : undefined;
    const rule = ruleOf(step, answer);
    const isGranted = step.op === 'take' && allowed && isTaken;
    if (!isGranted) {
      return { ...told, pausedUntil, slot: undefined, waitMs: delayOf(rule, answer, cost) };
    }
    const waitMs = delayOf(rule, answer);
    const at = momentOf(answer.nowUs + Math.round(waitMs * 1_000));
    const slot = { key, cost, at, isLocal: failure !== undefined, put: putOf(step, answer) };
    return { ...told, pausedUntil, slot, waitMs };
  }

  /** Makes instants of the clock that decided. */
  private momentsOf(step: Step, { failure, nowUs }: Answer): (us: number) => Moment {
    if (failure) return (us) => new Moment(us, undefined); // the stand-in goes by our clock
    const time = this.client.store.timeOf(step);
    time.learn(nowUs, this.nowUs());
    return (us) => new Moment(us, time);
  }
}

/** The rule by which the answer was made. */
function ruleOf({ rule, onStoreError }: Step, { failure }: Answer): QueueRule {
  return (failure && typeof onStoreError === 'object' ? onStoreError : rule) as QueueRule;
}

function putOf({ branch: _, ...step }: Step, answer: Answer): Step {
  return { ...step, op: 'put', receipt: receiptFrom(step.rule, answer, step.cost) };
}
