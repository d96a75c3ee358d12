/**
 * Reads options that may be functions of the request. A mistake in such a function is reported as a fault, and the
 * option then counts as not set.
 */

import { isCost, isKey } from '../base/checks.js';
import { isThenable } from '../base/host.js';
import { Junk } from '../base/junk.js';
import { within } from '../base/within.js';
import type { StepContext } from '../contract/limiter-turn.js';
import type { Fault } from '../contract/observer.js';
import type { KeyParts, LimitRequest, PerLater } from '../contract/request.js';
import type { Step } from '../contract/store.js';

/** Begins keys that are a client address or a list, which keeps them apart from the app's keys: see {@link asKey}. */
const ADDRESS_MARK = '@';

/** All requests with an unknown address share this key. */
export const UNKNOWN_ADDRESS = '@unknown';

export const CALLBACK_TIMEOUT_MS = 1_000;

export interface CallbackContext<Raw> {
  readonly limiter: string;
  readonly request: LimitRequest<Raw>;
  readonly context: Pick<StepContext, 'fault' | 'callbackTimeoutMs'>;
}

/**
 * The value of an option for a request. If the option is an async function, returns a promise that never rejects. If
 * the function throws, or its promise rejects or is late, reports a fault and returns undefined.
 */
export function readOption<Raw, Value>(
  asking: CallbackContext<Raw>,
  source: Fault['source'],
  option: PerLater<Raw, Value> | undefined,
): Value | undefined | Promise<Value | undefined> {
  // Most options are constants. This function is small, so that V8 inlines it and constants are read fast.
  return typeof option === 'function'
    ? call(asking, source, option as PerRequest<Raw, Value>)
    : option;
}

type PerRequest<Raw, Value> = (request: LimitRequest<Raw>) => Value | PromiseLike<Value>;

function call<Raw, Value>(
  asking: CallbackContext<Raw>,
  source: Fault['source'],
  option: PerRequest<Raw, Value>,
): Value | undefined | Promise<Value | undefined> {
  try {
    const own = option(asking.request);
    return isThenable(own) ? inTime(asking, source, own as PromiseLike<Value>) : own;
  } catch (error) {
    asking.context.fault({ limiter: asking.limiter, source, error });
    return undefined;
  }
}

async function inTime<Raw, Value>(
  { limiter, context }: CallbackContext<Raw>,
  source: Fault['source'],
  own: PromiseLike<Value>,
): Promise<Value | undefined> {
  const result = await within(context.callbackTimeoutMs ?? CALLBACK_TIMEOUT_MS, own);
  if ('value' in result) return result.value;
  context.fault({ limiter, source, error: result.error });
  return undefined;
}

function junk<Raw>(
  { limiter, context }: CallbackContext<Raw>,
  source: Fault['source'],
  value: unknown,
): void {
  const of = limiter === '' ? source : `${source} of limiter "${limiter}"`;
  context.fault({ limiter, source, error: new Junk(of, value) });
}

/** Whether a callback returned `true`. Anything but `true`, `false` and `undefined` is a fault. */
export function isYes<Raw>(
  asking: CallbackContext<Raw>,
  source: Fault['source'],
  verdict: unknown,
): boolean {
  if (verdict !== true && verdict !== false && verdict !== undefined) junk(asking, source, verdict);
  return verdict === true;
}

export function asKey(own: unknown): string | undefined {
  if (!isKey(own)) return undefined;
  return own.startsWith(ADDRESS_MARK) ? ADDRESS_MARK + own : own;
}

export function keyFrom<Raw>(asking: CallbackContext<Raw>, own: KeyParts): string {
  const named = Array.isArray(own) ? keyOfParts(own) : asKey(own);
  if (named !== undefined) return named;
  if (!isMissing(own) && !(Array.isArray(own) && own.some(isMissing))) junk(asking, 'key', own);
  const { clientIp } = asking.request;
  return isKey(clientIp) ? ADDRESS_MARK + clientIp : UNKNOWN_ADDRESS;
}

/**
 * One key for a list of parts, such as `@["acme","ada"]`. JSON is unambiguous, and the prefix keeps lists apart from
 * strings. Undefined if the list is empty or too long, or if a part is not a valid key.
 */
function keyOfParts(parts: readonly unknown[]): string | undefined {
  if (parts.length === 0 || !parts.every(isKey)) return undefined;
  const key = ADDRESS_MARK + JSON.stringify(parts);
  return isKey(key) ? key : undefined;
}

function isMissing(own: unknown): boolean {
  return own === undefined || own === null || own === '';
}

export function costFrom<Raw>(asking: CallbackContext<Raw>, own: number | undefined): number {
  if (isCost(own)) return own;
  if (own !== undefined) junk(asking, 'cost', own);
  return 1;
}

export function stepsFrom<Raw>(asking: CallbackContext<Raw>, own: unknown): readonly Step[] {
  if (own === undefined || own === null) return [];
  if (Array.isArray(own) && own.every(isStep)) return own;
  junk(asking, 'finish', own);
  return [];
}

function isStep(value: Partial<Step> | null | undefined): boolean {
  return typeof value?.op === 'string' && typeof value.rule?.machine === 'string';
}
