/** One request's answer, put together from its decisions when it is read. */

import type { Admission } from '../contract/admission.js';
import { bindingOf } from '../contract/binding.js';
import type { Decision } from '../contract/decision.js';
import type { Field } from '../contract/field.js';
import type { ResponseEnd } from '../contract/limiter.js';
import type { ResponseWriter } from '../http/response-writer.js';
import type { Ending } from './ending.js';
import type { DecidedTurn } from './turn.js';

/** What all admissions of a guard have in common. */
export interface AdmissionSource<Raw> {
  readonly writer: ResponseWriter;
  readonly ending: Ending<Raw>;
}

export class GuardAdmission<Raw> implements Admission {
  readonly allowed: boolean;
  readonly guard: AdmissionSource<Raw>;
  private readonly turns: readonly DecidedTurn<Raw>[];
  /** When the request came, by the guard's clock, if a limiter asks how long it took. */
  private readonly startUs: number;
  /** By the wall clock, if a field needs it. */
  private readonly nowMs: number;
  /** Those with something to do when the request is over. */
  private open: readonly DecidedTurn<Raw>[] | undefined;
  private knownDecisions: readonly Decision[] | undefined = undefined;
  private knownBinding: Decision | undefined = undefined;
  private knownFields: readonly Field[] | undefined = undefined;
  private knownBody: string | undefined = undefined;

  constructor(turns: readonly DecidedTurn<Raw>[], guard: AdmissionSource<Raw>, startUs: number) {
    this.turns = turns;
    this.guard = guard;
    this.startUs = startUs;
    this.nowMs = guard.writer.nowMs();
    this.allowed = allAllowed(turns);
    this.open = guard.ending.begin(turns, this.allowed);
    if (this.open && !this.allowed) this.end({ status: this.status }, true);
  }

  get decisions(): readonly Decision[] {
    this.knownDecisions ??= this.turns.map(({ decision }) => decision);
    return this.knownDecisions;
  }

  get binding(): Decision | undefined {
    if (this.allowed) return undefined;
    this.knownBinding ??= bindingOf(this.decisions.filter(({ allowed }) => !allowed));
    return this.knownBinding;
  }

  get status(): number {
    const { binding } = this;
    return binding ? this.guard.writer.statusOf(binding) : 200;
  }

  get fields(): readonly Field[] {
    this.knownFields ??= this.guard.writer.fields(this.turns, this.binding, this.nowMs);
    return this.knownFields;
  }

  get body(): string {
    const { binding } = this;
    if (!binding) return '';
    this.knownBody ??= this.guard.writer.body(this.turns, binding);
    return this.knownBody;
  }

  get pending(): boolean {
    return this.open !== undefined;
  }

  release(end: ResponseEnd): Promise<void> | undefined {
    return this.end(end, false);
  }

  private end(end: ResponseEnd, refused: boolean): Promise<void> | undefined {
    const { open } = this;
    if (!open) return undefined;
    this.open = undefined;
    return this.guard.ending.end(open, end, refused, this.startUs);
  }
}

function allAllowed<Raw>(turns: readonly DecidedTurn<Raw>[]): boolean {
  for (const { decision } of turns) if (!decision.allowed) return false;
  return true;
}
