/** All numbers in these messages are integers and exact. */

import { type Answer, SpillwayError, type Step } from '@spillway/core';
import type { ValueName } from '@spillway/core/store';
import { noReply } from '../failures.js';
import { numbersOf, type RuleNumbers } from './rules.js';

/**
 * The versions of the call format. Calls with a debt have version 2, because an object that still runs an older release
 * would ignore the debt of a version 1 call.
 */
export const FORMS = [1, 2] as const;

type PlainStep = Omit<Step, 'rule'> & { readonly rule: RuleNumbers };

export type Call =
  | GroupCall
  | { readonly set: ValueName; readonly text: string; readonly ttlUs: number }
  | { readonly get: ValueName };

export interface GroupCall {
  readonly steps: readonly PlainStep[];
  /** An instant of the object's clock, after which nothing is charged. */
  readonly latestUs?: number | undefined;
  /**
   * The limiters whose resets delete all of their counts of the key. A reset of another limiter deletes only the count
   * that its step names.
   */
  readonly known?: readonly string[] | undefined;
}

export interface Reply {
  readonly answers?: readonly Answer[];
  readonly value?: string | undefined;
}

interface Failed {
  readonly error: { readonly code: SpillwayError['code']; readonly text: string; kind?: string };
}

export function plainStep(step: Step, key: string, nowUs: number): PlainStep {
  const { onStoreError: _, receipt, rule, ...rest } = step;
  const plain = { ...rest, key, rule: numbersOf(rule, nowUs) };
  if (!receipt) return plain;
  const { atUs, num, units } = receipt;
  return { ...plain, receipt: { atUs, num, units } };
}

export function writeCall(call: Call): string {
  const owes = 'steps' in call && call.steps.some(({ rule }) => rule['debt'] !== undefined);
  return JSON.stringify({ form: FORMS[owes ? 1 : 0], ...call });
}

export function readCall(text: string): Call & { readonly form: (typeof FORMS)[number] } {
  return JSON.parse(text);
}

export function writeReply(reply: Reply): string {
  return JSON.stringify(reply);
}

/** The text omits the error code, because the Worker's `SpillwayError` appends it again. */
export function writeFailure({ code, message, kind }: SpillwayError): string {
  const text = message.replace(` (${code})`, '');
  return JSON.stringify({ error: { code, text, kind } });
}

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
