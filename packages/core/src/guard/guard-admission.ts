/**
 * A guard's decision about one request, and what happens when the request ends. Status, headers and body are computed
 * when they are first read.
 */

import type { Clock } from '../base/clock.js';
import { isThenable } from '../base/host.js';
import type { Admission } from '../contract/admission.js';
import { bindingOf, type Decision } from '../contract/decision.js';
import type { Keeper, StoredExchange } from '../contract/keeping.js';
import type { Limiter, RequestOutcome } from '../contract/limiter.js';
import type { ResponseEnd, StepContext } from '../contract/limiter-turn.js';
import type { StoredResponse } from '../contract/recorder.js';
import type { Header } from '../contract/request.js';
import type { Step } from '../contract/store.js';
import type { Releases } from '../engine/releases.js';
import type { ResponseWriter } from '../http/response-writer.js';
import { readOption, stepsFrom } from '../limits/callbacks.js';
import type { Observers } from '../observe/observers.js';
import type { StoreClient } from '../stores/store-client.js';
import { type DecidedTurn, mayEnd, needsEnd, takesHold } from './turn.js';

interface Shared<Raw> {
  readonly writer: ResponseWriter;
  readonly ending: Ending<Raw>;
  readonly client: StoreClient;
  readonly keeper: Keeper<Raw> | undefined;
}

export class GuardAdmission<Raw> implements Admission {
  readonly allowed: boolean;
  readonly guard: object;
  readonly replay: StoredResponse | undefined;
  readonly shared: Shared<Raw>;
  readonly turns: readonly DecidedTurn<Raw>[];
  private readonly startUs: number;
  private readonly nowMs: number;
  private toEnd: readonly DecidedTurn<Raw>[] | undefined;
  private knownDecisions: readonly Decision[] | undefined;
  private knownBinding: Decision | undefined;
  private knownHeaders: readonly Header[] | undefined;
  private knownBody: string | undefined;

  constructor(
    turns: readonly DecidedTurn<Raw>[],
    guard: object,
    shared: Shared<Raw>,
    startUs: number,
  ) {
    this.allowed = allAllowed(turns);
    this.guard = guard;
    this.replay = this.allowed ? undefined : shared.keeper?.settledIn(turns)?.answer;
    this.shared = shared;
    this.turns = turns;
    this.startUs = startUs;
    this.nowMs = shared.writer.nowMs();
    this.toEnd = shared.ending.beginTurns(turns, this);
    this.knownDecisions = undefined;
    this.knownBinding = undefined;
    this.knownHeaders = undefined;
    this.knownBody = undefined;
    if (this.toEnd && !this.allowed) this.endTurns({ status: this.status }, true);
  }

  get decisions(): readonly Decision[] {
    this.knownDecisions ??= this.turns.map(({ decision }) => decision);
    return this.knownDecisions;
  }

  get binding(): Decision | undefined {
    if (this.allowed || this.replay) return undefined;
    this.knownBinding ??= bindingRejection(this.turns);
    return this.knownBinding;
  }

  get status(): number {
    const { binding } = this;
    return binding ? this.shared.writer.statusOf(binding) : (this.replay?.status ?? 200);
  }

  get headers(): readonly Header[] {
    this.knownHeaders ??= this.allHeaders();
    return this.knownHeaders;
  }

  get body(): string {
    const { binding } = this;
    if (!binding) return '';
    const { writer, keeper } = this.shared;
    this.knownBody ??= writer.body(this.turns, binding, keeper?.problemOf(binding));
    return this.knownBody;
  }

  get pending(): boolean {
    return this.toEnd !== undefined;
  }

  /** Lets an `idempotency()` of the guard prepare to store the response. The handler must wait for the promise. */
  beginKeeping(exchange: StoredExchange): Promise<void> | undefined {
    return this.shared.keeper?.begin(this.turns, exchange);
  }

  release(end: ResponseEnd): Promise<void> | undefined {
    return this.endTurns(end, false);
  }

  private allHeaders(): readonly Header[] {
    const { shared, turns } = this;
    const fields = shared.writer.fields(turns, this.binding, this.nowMs);
    const own = this.allowed ? undefined : shared.keeper?.settledIn(turns)?.headers;
    return own ? [...fields, ...own] : fields;
  }

  private endTurns(end: ResponseEnd, rejected: boolean): Promise<void> | undefined {
    const { toEnd } = this;
    if (!toEnd) return undefined;
    this.toEnd = undefined;
    const [turn] = this.turns;
    if (turn && !rejected) this.shared.ending.observers.ended(turn.request);
    return this.shared.ending.endTurns(toEnd, end, rejected, this.startUs);
  }
}

/** Returns the name of a limiter whose count was charged twice: by the admissions of two guards. */
export function countedTwice(one: object, other: object): string | undefined {
  const areOurs = one instanceof GuardAdmission && other instanceof GuardAdmission;
  if (!areOurs || one.guard === other.guard) return undefined;
  if (one.shared.client.store !== other.shared.client.store) return undefined;
  const turns: readonly DecidedTurn<unknown>[] = one.turns;
  return turns.find((turn) => other.turns.some((own) => chargesSame(own, turn)))?.limiter.name;
}

function chargesSame<Raw, Other>(one: DecidedTurn<Raw>, other: DecidedTurn<Other>): boolean {
  const [step, same] = [one.step, other.step];
  if (!step || !same || !one.answer?.allowed || !other.answer?.allowed) return false;
  if (step.cost === 0 || same.cost === 0) return false;
  return countId(step) === countId(same);
}

function countId({ limiter, key, rule }: Step): string {
  return JSON.stringify([limiter, key, rule.code]);
}

function allAllowed<Raw>(turns: readonly DecidedTurn<Raw>[]): boolean {
  for (let i = 0; i < turns.length; i += 1) if (!turns[i]?.decision.allowed) return false;
  return true;
}

function bindingRejection<Raw>(turns: readonly DecidedTurn<Raw>[]): Decision | undefined {
  let binding: Decision | undefined;
  for (const { decision } of turns) {
    if (!decision.allowed) binding = binding ? bindingOf([binding, decision]) : decision;
  }
  return binding;
}

export class Ending<Raw> {
  readonly releases: Releases;
  private readonly clock: Clock;
  private readonly context: StepContext;
  private readonly isTimed: boolean;
  private readonly patienceMs: number;
  readonly observers: Observers;

  constructor(
    limiters: readonly Limiter<Raw>[],
    releases: Releases,
    context: StepContext,
    patienceMs: number,
    observers: Observers,
  ) {
    this.observers = observers;
    this.patienceMs = patienceMs;
    this.releases = releases;
    this.clock = releases.client.clock;
    this.context = context;
    this.isTimed = limiters.some(({ finish }) => finish !== undefined);
  }

  startUs(): number {
    return this.isTimed ? this.clock.nowUs() : 0;
  }

  /**
   * Starts renewing the permits and claims of a request. `turns` has one turn for each limiter. Returns the turns that
   * need work when the request ends. The list is empty if only observers need the end; undefined if nothing does.
   */
  beginTurns(
    turns: readonly DecidedTurn<Raw>[],
    admission: Admission,
  ): readonly DecidedTurn<Raw>[] | undefined {
    // In the usual case no turn needs work at the end, and nothing is allocated.
    for (let i = 0; i < turns.length; i += 1) {
      if (mayEnd(turns[i] as DecidedTurn<Raw>)) return this.toEnd(turns, admission);
    }
    return this.watched(admission.allowed);
  }

  private toEnd(
    turns: readonly DecidedTurn<Raw>[],
    admission: Admission,
  ): readonly DecidedTurn<Raw>[] | undefined {
    const { allowed } = admission;
    let open = this.watched(allowed);
    for (const turn of turns) {
      const { step } = turn;
      const isHeld = step && takesHold(turn) && this.releases.permitsOf(step).begin(turn, turns);
      if (isHeld || needsEnd(turn, !allowed)) {
        open ??= [];
        open.push(turn);
        if (allowed) turn.limiter.begin?.(turn, admission, this);
      }
    }
    return open;
  }

  private watched(allowed: boolean): DecidedTurn<Raw>[] | undefined {
    return allowed && this.observers.wantsEnds ? [] : undefined;
  }

  /**
   * Ends the turns that {@link beginTurns} returned. All refunds and releases go to the store in one call, together
   * with the end of a claim if that is ready in time. Refunds of an async `refundIf` follow in a second call. The
   * promise never rejects.
   */
  endTurns(
    turns: readonly DecidedTurn<Raw>[],
    end: ResponseEnd,
    rejected: boolean,
    startUs: number,
  ): Promise<void> | undefined {
    const durationMs = this.isTimed ? (this.clock.nowUs() - startUs) / 1000 : 0;
    const outcome = rejected ? { ...end, durationMs, rejected: true } : { ...end, durationMs };
    const { releases } = this;
    const steps: Step[] = [];
    const later: Promise<readonly Step[]>[] = [];
    let given: Promise<void> | undefined;
    let claim: Promise<readonly Step[]> | undefined;
    for (const turn of turns) {
      const { step } = turn;
      if (step?.lease) steps.push(releases.permitsOf(step).release(step));
      const back = step?.claim
        ? this.endClaim(turn, step, outcome)
        : needsEnd(turn, rejected) && this.finish(turn, outcome);
      if (!back) continue;
      if (!isThenable(back)) steps.push(...back);
      else if (step?.claim) claim = back;
      else later.push(back);
    }
    if (claim) {
      // Waiting for the claim saves a call. The wait is limited, because a slow claim must not delay permits and
      // refunds.
      const giveBackNow = (own: readonly Step[]) => releases.giveBack(own);
      given = releases.permits?.giveBackWith(claim, steps, giveBackNow, this.patienceMs);
    } else given = releases.giveBack(steps);
    return later.length === 0 ? given : releases.track(this.endLater(given, later));
  }

  private endClaim(
    turn: DecidedTurn<Raw>,
    step: Step,
    outcome: RequestOutcome,
  ): readonly Step[] | Promise<readonly Step[]> {
    const permits = this.releases.permitsOf(step);
    if (outcome.rejected) return [permits.release(step)];
    return permits.endClaim(step, this.context, (context) => this.finish(turn, outcome, context));
  }

  private finish(
    turn: DecidedTurn<Raw>,
    outcome: RequestOutcome,
    context: StepContext = this.context,
  ): readonly Step[] | Promise<readonly Step[]> {
    const { limiter, request } = turn;
    const asking = { limiter: limiter.name, request, context };
    const own = readOption(asking, 'finish', () => limiter.finish?.(turn, outcome, this.context));
    return isThenable(own) ? own.then((steps) => stepsFrom(asking, steps)) : stepsFrom(asking, own);
  }

  private async endLater(
    given: Promise<void> | undefined,
    later: readonly Promise<readonly Step[]>[],
  ): Promise<void> {
    const lists = await Promise.all(later);
    await Promise.all([given, this.releases.giveBack(lists.flat())]);
  }
}
