/** How a decision is made, in guards and without HTTP: what is known here, one call of the store, who is told. */

import type { Eventually } from '../base/host.js';
import type { Answer } from '../contract/ask.js';
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
import type { Step } from '../contract/store.js';
import type { Host } from '../contract/store-link.js';
import type { Observers } from '../observe/observers.js';
import type { StoreClient } from '../stores/store-client.js';
import { isInShare } from './share.js';

/** One limiter's part in one decision, while it is made. */
export interface Part {
  /** Of a part with a step, what decides by the store's answer. */
  readonly limiter: { readonly name: string };
  mode: Mode;
  /** What is set live: read once, so that one decision follows from one state. */
  readonly settings: LimiterSettings | undefined;
  step: Step | undefined;
  answer: Answer | undefined;
  decision: Decision | undefined;
}

/** What decides by the answer of a store: a stored limiter, or a limit without HTTP. */
export interface Decider {
  readonly name: string;
  readonly share?: number;
  readonly onStoreError?: OnStoreError | undefined;
  decide(step: Step, answer: Answer): Decision;
}

/** Those for which the store is asked: most often one, which then needs no list. */
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
   * Decides what needs no store. Answers those for which the store must be asked; undefined if it need not be.
   *
   * @param takes false if nothing is taken: then a rejection does not keep the others from being asked
   */
  open(parts: readonly P[], takes = true): Open<P> | undefined {
    let open: P | P[] | undefined;
    let isRefused = false;
    for (let i = 0; i < parts.length; i += 1) {
      const part = parts[i] as P;
      if (part.mode !== 'off' && !part.decision) this.decideHere(part);
      if (part.decision) isRefused ||= takes && !part.decision.allowed;
      else if (part.step) {
        if (!open) open = part;
        else if (Array.isArray(open)) open.push(part);
        else open = [open, part];
      }
    }
    // What this process rejects by itself costs the store nothing.
    return isRefused ? undefined : open;
  }

  /** Decides by a store that needs neither a promise nor a list; false if it must be asked by {@link ask}. */
  decideNow(open: Open<P>): boolean {
    if (Array.isArray(open)) return false;
    const answer = this.client.link.askNow(open.step as Step);
    if (answer) this.judge(open, answer);
    return answer !== undefined;
  }

  /**
   * What `then` makes of it once the store has answered for all of them in one call.
   *
   * @param host of the request that asks
   */
  ask<Value>(open: Open<P>, then: () => Eventually<Value>, host?: Host): Eventually<Value> {
    const asked = Array.isArray(open) ? open : [open];
    const steps = asked.map(({ step }) => step as Step);
    const judge = (answers: readonly Answer[]): Eventually<Value> => {
      for (let i = 0; i < asked.length; i += 1) this.judge(asked[i] as P, answers[i], asked[i - 1]);
      return then();
    };
    return this.client.link.ask(steps, judge, { host });
  }

  /** Tells observers of the decision; the limiter was skipped if nobody has decided. */
  conclude(part: P, request?: LimitRequest): Decision {
    const { observers } = this;
    part.decision ??= skippedDecision(part.limiter.name);
    if (observers.hearsDecisions) {
      observers.decision(part.decision, part.mode, part.step?.key, request);
    }
    return part.decision;
  }

  /** Decides if the store need not be asked; puts the part in shadow if its key is not in the limiter's share yet. */
  protected decideHere(part: P): void {
    const { step, settings } = part;
    if (!step) return;
    const limiter = part.limiter as Decider;
    const ruled = this.control?.ruled(limiter.name, part.mode, step.key);
    if (ruled) {
      part.decision = ruled;
      return;
    }
    const share = settings?.share ?? limiter.share ?? 1;
    if (part.mode === 'enforce' && !isInShare(limiter.name, step.key, share)) {
      part.mode = 'shadow';
      part.step = { ...step, binding: false };
    }
    // Of a plan that lets nobody pass.
    if (step.rule.limit === 0) {
      part.decision = deniedDecision(limiter.name, part.mode, 'never', Infinity);
    } else {
      this.decideByCache(part, limiter, step);
    }
  }

  /** Decides if the denial cache knows that the store would reject. */
  protected decideByCache(part: P, limiter: Decider, step: Step): void {
    if (part.mode !== 'enforce' || step.op !== 'take') return;
    const known = this.client.link.known(step);
    if (!known) return;
    part.answer = known;
    part.decision = this.decisionOf(limiter, part.mode, step, known);
  }

  /** What the limiter makes of an answer. */
  protected decisionOf(limiter: Decider, _mode: Mode, step: Step, answer: Answer): Decision {
    return limiter.decide(step, answer);
  }

  /**
   * A custom limiter may ask what gets no answer.
   *
   * @param before the part before it: a call that failed for many keys of one limiter is one fault
   */
  private judge(part: P, answer: Answer | undefined, before?: P): void {
    const { context } = this;
    const limiter = part.limiter as Decider;
    part.answer = answer;
    part.decision = this.decisionOf(limiter, part.mode, part.step as Step, answer as Answer);
    const error = answer?.failure;
    if (!error || (before?.limiter === limiter && before.answer?.failure === error)) return;
    context.fault({ limiter: limiter.name, source: 'store', error });
  }
}
