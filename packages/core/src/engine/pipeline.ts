/**
 * Makes decisions for guards and keyed limiters: locally if possible, otherwise by one store call. Then calls
 * observers.
 */

import { fingerprint } from '../base/fingerprint.js';
import type { Eventually } from '../base/host.js';
import type { LimiterSettings } from '../contract/control.js';
import type { ControlLink } from '../contract/control-link.js';
import {
  type Decision,
  deniedDecision,
  type Mode,
  type OnStoreError,
  skippedDecision,
} from '../contract/decision.js';
import type { StepContext } from '../contract/limiter-turn.js';
import type { LimitRequest } from '../contract/request.js';
import type { Answer } from '../contract/rule.js';
import type { Step } from '../contract/store.js';
import type { Observers } from '../observe/observers.js';
import type { StoreClient } from '../stores/store-client.js';

export interface Part {
  /** If the part has a step, this is a {@link Decider}. */
  readonly limiter: { readonly name: string };
  mode: Mode;
  /** The live settings, read once per decision so that they can't change halfway. */
  readonly settings: LimiterSettings | undefined;
  step: Step | undefined;
  answer: Answer | undefined;
  decision: Decision | undefined;
  /** Undefined without HTTP. */
  readonly request?: LimitRequest | undefined;
}

export interface Decider {
  readonly name: string;
  readonly share?: number;
  readonly onStoreError?: OnStoreError | undefined;
  /** The members of a rejection that replace the defaults. The pipeline needs them for a limit of 0. */
  readonly denial?: Partial<Decision> | undefined;
  decide(step: Step, answer: Answer): Decision;
}

type Open<P> = P | P[];

export class Pipeline<P extends Part> {
  readonly client: StoreClient;
  readonly observers: Observers;
  protected readonly context: StepContext;
  private readonly control: ControlLink | undefined;

  constructor(
    client: StoreClient,
    control: ControlLink | undefined,
    observers: Observers,
    context: StepContext,
  ) {
    this.client = client;
    this.control = control;
    this.observers = observers;
    this.context = context;
  }

  /**
   * Decides the parts that need no store. Returns the parts that need a store call; undefined if no call is needed.
   *
   * @param takes whether the parts are charged together. If so, a local rejection rejects all, without a store call
   */
  decideWithoutStore(parts: readonly P[], takes = true): Open<P> | undefined {
    let open: P | P[] | undefined;
    let isRejected = false;
    for (let i = 0; i < parts.length; i += 1) {
      const part = parts[i] as P;
      if (part.mode !== 'off' && !part.decision) this.decideHere(part);
      if (part.decision) isRejected ||= takes && !part.decision.allowed;
      else if (part.step) {
        if (!open) open = part;
        else if (Array.isArray(open)) open.push(part);
        else open = [open, part];
      }
    }
    return isRejected ? undefined : open;
  }

  /** Decides a single part by a synchronous store call. Returns false if {@link askStore} must be called instead. */
  decideNow(open: Open<P>): boolean {
    if (Array.isArray(open)) return false;
    const answer = this.client.link.askNow(open.step as Step);
    if (answer) this.judge(open, answer);
    return answer !== undefined;
  }

  askStore<Value>(open: Open<P>, then: () => Eventually<Value>): Eventually<Value> {
    const asked = Array.isArray(open) ? open : [open];
    const steps = asked.map(({ step }) => step as Step);
    const judge = (answers: readonly Answer[]): Eventually<Value> => {
      for (let i = 0; i < asked.length; i += 1) this.judge(asked[i] as P, answers[i], asked[i - 1]);
      return then();
    };
    return this.client.link.ask(steps, judge, { host: (asked[0] as P).request });
  }

  conclude(part: P): Decision {
    const { observers } = this;
    part.decision ??= skippedDecision(part.limiter.name);
    if (observers.wantsDecisions) {
      observers.decision(part.decision, part.mode, part.step?.key, part.request);
    }
    return part.decision;
  }

  /**
   * Decides the part without the store if an override, a limit of 0 or the denial cache allows that. Puts the part in
   * shadow mode if its key is outside the limiter's share.
   */
  protected decideHere(part: P): void {
    const { step, settings } = part;
    if (!step) return;
    const limiter = part.limiter as Decider;
    const overridden = this.control?.decisionByOverride(limiter.name, part.mode, step.key);
    if (overridden) {
      part.decision = overridden;
      return;
    }
    const share = settings?.share ?? limiter.share ?? 1;
    if (part.mode === 'enforce' && !isInShare(limiter.name, step.key, share)) {
      part.mode = 'shadow';
      part.step = { ...step, binding: false };
    }
    // The limit of a plan can be 0.
    if (step.rule.limit === 0) {
      const denied = deniedDecision(limiter.name, part.mode, 'never', Infinity);
      part.decision = { ...denied, ...limiter.denial };
    } else {
      this.decideByCache(part, limiter, step);
    }
  }

  protected decideByCache(part: P, limiter: Decider, step: Step): void {
    if (part.mode !== 'enforce' || step.op !== 'take') return;
    const known = this.client.link.known(step);
    if (!known) return;
    part.answer = known;
    part.decision = this.decisionOf(limiter, part.mode, step, known);
  }

  protected decisionOf(limiter: Decider, _mode: Mode, step: Step, answer: Answer): Decision {
    return limiter.decide(step, answer);
  }

  /**
   * @param answer undefined if a custom limiter has sent a step that the store doesn't answer
   * @param before the preceding part. If it has the same limiter and the same failure, the fault is not reported again
   */
  private judge(part: P, answer: Answer | undefined, before?: P): void {
    const { context } = this;
    const limiter = part.limiter as Decider;
    const step = part.step as Step;
    part.answer = answer;
    part.decision = this.decisionOf(limiter, part.mode, step, answer as Answer);
    step.rule?.logic?.examine?.(step, answer as Answer, limiter.name, context);
    const error = answer?.failure;
    if (!error || (before?.limiter === limiter && before.answer?.failure === error)) return;
    context.fault({ limiter: limiter.name, source: 'store', error });
  }
}

/** The seed must never change, because every process and release must agree on which keys are in a share. */
const SEED = { lo: 0x73706c77, hi: 0x73686172 };

/** Whether the limit is enforced for the key. A key in one share is also in every larger share. */
function isInShare(limiter: string, key: string, share: number): boolean {
  if (share >= 1) return true;
  const { lo } = fingerprint(`${limiter} ${key}`, SEED);
  return (lo >>> 0) / 2 ** 32 < share;
}
