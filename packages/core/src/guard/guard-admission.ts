/** One request's answer, put together from its decisions. */

import type { Admission } from '../contract/admission.js';
import { bindingOf } from '../contract/binding.js';
import type { Decision } from '../contract/decision.js';
import type { Field } from '../contract/field.js';
import type { Limiter, RequestOutcome } from '../contract/limiter.js';
import type { Mode } from '../contract/mode.js';
import type { Answer, Step } from '../contract/store.js';
import type { ResponseWriter } from '../http/response-writer.js';

/** What one limiter was asked and what came of it. */
export interface LimiterTurn<Raw> {
  readonly limiter: Limiter<Raw>;
  mode: Mode;
  step?: Step;
  answer?: Answer;
  decision?: Decision;
}

export class GuardAdmission<Raw> implements Admission {
  readonly allowed: boolean;
  readonly decisions: readonly Decision[];
  readonly binding: Decision | undefined;
  readonly status: number;
  readonly fields: readonly Field[];
  readonly body: string;
  private held: readonly LimiterTurn<Raw>[];
  private readonly settle: (
    asked: readonly LimiterTurn<Raw>[],
    outcome: RequestOutcome,
  ) => Promise<void> | undefined;
  readonly guard: object;

  constructor(
    asked: readonly LimiterTurn<Raw>[],
    presenter: ResponseWriter,
    settle: (
      asked: readonly LimiterTurn<Raw>[],
      outcome: RequestOutcome,
    ) => Promise<void> | undefined,
    guard: object,
  ) {
    this.settle = settle;
    this.guard = guard;
    this.decisions = asked.map((one) => one.decision as Decision);
    const refusals = this.decisions.filter((decision) => !decision.allowed);
    this.allowed = refusals.length === 0;
    this.binding = this.allowed ? undefined : bindingOf(refusals);
    // What is in shadow is not shown.
    const shown = this.decisions.filter((_, index) => asked[index]?.mode === 'enforce');
    const presented = presenter.present(shown, refusals, this.binding);
    this.status = presented.status;
    this.fields = presented.fields;
    this.body = presented.body;
    // A refusal charged nothing, unless the store let it pass and we did not, or nobody knows what the store did.
    this.held = asked.filter(this.allowed ? settles : storeGranted(asked) ? holds : mayHold);
  }

  /** The steps of which leases are held. */
  get leases(): readonly Step[] {
    return this.held.flatMap(({ step }) => (step?.lease ? [step] : []));
  }

  get pending(): boolean {
    return this.held.length > 0;
  }

  release(outcome: RequestOutcome): Promise<void> | undefined {
    const { held } = this;
    if (held.length === 0) return undefined;
    this.held = [];
    return this.settle(held, outcome);
  }
}

/** Whether no answer of the store refused the request. */
function storeGranted<Raw>(asked: readonly LimiterTurn<Raw>[]): boolean {
  return asked.every(({ step, answer }) => !step?.binding || !answer || answer.allowed);
}

function settles<Raw>(one: LimiterTurn<Raw>): boolean {
  const { limiter, answer } = one;
  if (limiter.kind !== 'stored' || !answer) return false;
  return (
    holds(one) ||
    (limiter.settle !== undefined &&
      answer.allowed &&
      (!answer.failure || answer.standIn !== undefined))
  );
}

/** Whether a lease was granted, or may have been though its answer is lost. */
function holds<Raw>(one: LimiterTurn<Raw>): boolean {
  return mayHold(one) || (one.step?.lease !== undefined && one.answer?.allowed === true);
}

function mayHold<Raw>({ step, answer }: LimiterTurn<Raw>): boolean {
  return step?.lease !== undefined && answer?.failure !== undefined;
}
