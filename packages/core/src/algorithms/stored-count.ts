import { SpillwayError } from '../base/errors.js';
import type { Ask } from '../contract/ask.js';
import type { Answer, Rule } from '../contract/rule.js';
import type { Op, Step } from '../contract/store.js';

/** The part of an algorithm that only stores of texts need. */
export interface TextForm<State extends { dirty: boolean }> {
  /** Whether a step that writes nothing must leave the state as it was, because it may convert it for its rule. */
  readonly copies?: true;
  unused(): State;
  /** @throws SpillwayError `SPW_STORE_ERROR` if the text is not in our format */
  read(text: string, rule: Rule): State;
  /** Applies a step to `state`, in place. Sets `dirty` if the text must be written. */
  step(ask: Ask<Rule>, state: State, nowUs: number, charge: boolean): Answer;
  /** When the count expires and decides like an unused key. This may be in the past. */
  expiresUs(state: State, rule: Rule): number;
  text(state: State): string;
}

/** A count that was read from its text. Steps change it in place; the caller must store the new text. */
export class StoredCount<State extends { dirty: boolean } = { dirty: boolean }> {
  changed = false;
  /** See {@link TextForm.expiresUs}. Only valid if the count has changed. */
  expiresUs = 0;
  private readonly form: TextForm<State>;
  private state: State;

  constructor(form: TextForm<State>, text: string | undefined, rule: Rule) {
    this.form = form;
    this.state = text === undefined ? form.unused() : form.read(text, rule);
  }

  step(step: Step, nowUs: number, charge: boolean): Answer {
    const { form } = this;
    const state = form.copies ? { ...this.state } : this.state;
    state.dirty = false;
    const answer = form.step(step, state, nowUs, charge);
    if (state.dirty) {
      this.state = state;
      this.changed = true;
      this.expiresUs = step.op === 'reset' ? 0 : form.expiresUs(state, step.rule);
    }
    return answer;
  }

  text(): string {
    return this.form.text(this.state);
  }
}

/**
 * Whether a step changes the stored state. Steps that charge, give back or reset change it.
 *
 * @param acts whether the step passes or, like a `record`, applies anyway
 * @param repairs whether the clock went back so far that even an uncharged take corrects the state
 */
export function isWritten(
  { op, cost }: { readonly op: Op; readonly cost: number },
  acts: boolean,
  charge: boolean,
  repairs: boolean,
): boolean {
  if (op === 'reset') return true;
  if (op === 'look' || cost === 0) return false;
  return op === 'take' ? (acts && charge) || repairs : acts;
}

export function numbersOf(text: string, form: RegExp): number[] {
  const match = form.exec(text);
  if (!match) throw unknownFormat();
  return match.slice(1).map((digits = '0') => wholeNumber(Number(digits)));
}

export function wholeNumber(value: unknown): number {
  if (Number.isSafeInteger(value) && (value as number) >= 0) return value as number;
  throw unknownFormat();
}

export function unknownFormat(): SpillwayError {
  return new SpillwayError('SPW_STORE_ERROR', 'the stored value is not one of this format');
}
