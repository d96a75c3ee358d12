/** What a Worker and an object say to each other, as JSON. All numbers in it are whole and exact. */

import { type Answer, SpillwayError, type Step } from '@spillway/core';
import type { ValueName } from '@spillway/core/store';
import { noReply } from '../failures.js';
import { numbersOf, type RuleNumbers } from './rules.js';

/**
 * The form of calls. An object that is older than its Worker, as it may be for a moment after a deploy, refuses a form
 * that it does not know.
 */
export const FORM = 1;

/** A step whose rule is without code. */
type PlainStep = Omit<Step, 'rule'> & { readonly rule: RuleNumbers };

/** One of the three things that an object is asked. */
export type Call =
  | GroupCall
  | { readonly set: ValueName; readonly text: string; readonly ttlUs: number }
  | { readonly get: ValueName };

export interface GroupCall {
  readonly steps: readonly PlainStep[];
  /** By the clock of the object: after it, nothing is charged. */
  readonly latestUs?: number | undefined;
  /** Limiters of which a reset forgets all counts of its key, and not only the one that its step names. */
  readonly known?: readonly string[] | undefined;
}

/** What it answers: to steps with answers, to `get` with a value if there is one. */
export interface Reply {
  readonly answers?: readonly Answer[];
  readonly value?: string | undefined;
}

interface Failed {
  readonly error: { readonly code: SpillwayError['code']; readonly text: string; kind?: string };
}

/** A step as it travels at `nowUs`, by the Worker's clock: without what only the Worker needs. */
export function plainStep(step: Step, key: string, nowUs: number): PlainStep {
  const { onStoreError: _, receipt, rule, ...rest } = step;
  const plain = { ...rest, key, rule: numbersOf(rule, nowUs) };
  if (!receipt) return plain;
  const { atUs, num, units } = receipt;
  return { ...plain, receipt: { atUs, num, units } };
}

export function writeCall(call: Call): string {
  return JSON.stringify({ form: FORM, ...call });
}

export function readCall(text: string): Call & { readonly form: unknown } {
  return JSON.parse(text);
}

export function writeReply(reply: Reply): string {
  return JSON.stringify(reply);
}

/** Of an error about this call alone. Its text is sent without the code, which an error adds by itself. */
export function writeFailure({ code, message, kind }: SpillwayError): string {
  const text = message.replace(` (${code})`, '');
  return JSON.stringify({ error: { code, text, kind } });
}

/**
 * @throws SpillwayError what the object failed with; `SPW_STORE_ERROR` if `text` is no reply
 */
export function readReply(text: string): Reply {
  let reply: (Reply & Partial<Failed>) | null;
  try {
    reply = JSON.parse(text);
  } catch (cause) {
    throw noReply(cause);
  }
  if (typeof reply !== 'object' || reply === null) throw noReply();
  if (!reply.error) return reply;
  const { code, text: message, kind } = reply.error;
  throw new SpillwayError(code, message, kind === undefined ? {} : { kind });
}
