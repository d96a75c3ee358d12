/** A guard's decision about one request. Status, headers and body are computed when they are first read. */

import type { Admission } from '../contract/admission.js';
import { bindingOf, type Decision } from '../contract/decision.js';
import type { Keeper, StoredExchange } from '../contract/keeping.js';
import type { ResponseEnd } from '../contract/limiter-turn.js';
import type { StoredResponse } from '../contract/recorder.js';
import type { Header } from '../contract/request.js';
import type { Step } from '../contract/store.js';
import type { ResponseWriter } from '../http/response-writer.js';
import type { StoreClient } from '../stores/store-client.js';
import type { Ending } from './ending.js';
import type { DecidedTurn } from './turn.js';

interface Shared<Raw> {
  readonly writer: ResponseWriter;
  readonly ending: Ending<Raw>;
  readonly client: StoreClient;
  readonly keeper: Keeper<Raw> | undefined;
}

/** `declare` avoids initializing the properties twice. This matters, because every request creates an admission. */
export class GuardAdmission<Raw> implements Admission {
  declare readonly allowed: boolean;
  declare readonly guard: object;
  declare readonly replay: StoredResponse | undefined;
  declare private readonly shared: Shared<Raw>;
  declare private readonly turns: readonly DecidedTurn<Raw>[];
  declare private readonly startUs: number;
  declare private readonly nowMs: number;
  declare private toEnd: readonly DecidedTurn<Raw>[] | undefined;
  declare private knownDecisions: readonly Decision[] | undefined;
  declare private knownBinding: Decision | undefined;
  declare private knownHeaders: readonly Header[] | undefined;
  declare private knownBody: string | undefined;

  constructor(
    turns: readonly DecidedTurn<Raw>[],
    guard: object,
    shared: Shared<Raw>,
    startUs: number,
  ) {
    this.allowed = allAllowed(turns);
    this.guard = guard;
    this.replay = this.allowed || !shared.keeper ? undefined : shared.keeper.answerIn(turns);
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

  /**
   * Returns the name of a limiter whose count was charged twice: by this admission, and by `other` of another guard.
   */
  countedTwice(other: GuardAdmission<unknown>): string | undefined {
    if (this.shared.client.store !== other.shared.client.store) return undefined;
    const twice = this.turns.find((turn) => other.turns.some((one) => chargesSame(one, turn)));
    return twice?.limiter.name;
  }

  private allHeaders(): readonly Header[] {
    const { shared, turns } = this;
    const fields = shared.writer.fields(turns, this.binding, this.nowMs);
    const own = this.allowed ? undefined : shared.keeper?.headersIn(turns);
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

export function countedTwice(one: object, other: object): string | undefined {
  const areOurs = one instanceof GuardAdmission && other instanceof GuardAdmission;
  return areOurs && one.guard !== other.guard ? one.countedTwice(other) : undefined;
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
