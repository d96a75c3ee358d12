/** An idempotency key: out of the header that a client sent, and what a store has of it, for operators. */

import { makeClaimsRule } from '../algorithms/claims/claim-rule.js';
import { SpillwayError } from '../base/errors.js';
import type { ClaimsAnswer } from '../contract/ask.js';
import type { Op, Step, Store } from '../contract/store.js';
import { asKey } from '../limits/callbacks.js';
import { type Note, newOwner, noteIn } from './claim-note.js';
import { type AnswerRecord, decodeRecord } from './kept-answer.js';

/** What names an idempotency key in a store. */
export interface IdempotencyKeyName {
  /** The `name` of the `idempotency`. */
  readonly limiter: string;
  /** As the function `scope` gives it. */
  readonly scope: string;
  /** As the client sends it, with quotes or without. */
  readonly key: string;
}

/** What a store has of an idempotency key. */
export interface IdempotencyKeyState {
  /** `free` if nobody runs it and nobody has done it. */
  readonly state: ClaimsAnswer['state'];
  /** The token of the run; empty if it is free. */
  readonly owner: string;
  /** When it is free again, in milliseconds since the epoch by the store's clock; 0 if it is. */
  readonly endsMs: number;
  /** How long that is from now. */
  readonly leftMs: number;
  /** What is known of the request that was done. Undefined if it is not done, or was kept by a later version. */
  readonly note: Note | undefined;
  /** Undefined if none is kept, or it was kept by a later version. */
  readonly answer: AnswerRecord | undefined;
  /** The bytes that are kept for the answer, with its status and fields. */
  readonly size: number;
}

/**
 * Looks at an idempotency key, and changes nothing.
 *
 * @throws SpillwayError `SPW_SCOPE_INVALID` if the scope can be none, `SPW_KEY_INVALID` if no request can have the key;
 * what the store throws
 * @example
 * ```ts run
 * import { memoryStore } from '@spillway/core';
 * import { readIdempotencyKey } from '@spillway/core/store';
 *
 * const name = { limiter: 'once', scope: 'ada', key: 'order-17' };
 * const { state } = await readIdempotencyKey(memoryStore(), name);
 * state; // 'free'
 * ```
 */
export async function readIdempotencyKey(
  store: Store,
  name: IdempotencyKeyName,
): Promise<IdempotencyKeyState> {
  const step = stepOn(name, 'look');
  const { nowUs, state, owner, endsUs, note } = await ask(store, step);
  const isDone = state === 'done';
  const bytes = isDone
    ? await store.values?.get({ limiter: step.limiter, key: step.key, id: owner })
    : undefined;
  return {
    state,
    owner,
    endsMs: Math.ceil(endsUs / 1000),
    leftMs: state === 'free' ? 0 : Math.ceil((endsUs - nowUs) / 1000),
    note: isDone ? noteIn(note) : undefined,
    answer: bytes && decodeRecord(bytes),
    size: bytes?.length ?? 0,
  };
}

/**
 * Makes an idempotency key free, whatever its state, and overwrites its kept answer. The next request with the key
 * runs. One that runs now does not end: its process takes the key back with its next renewal, if it is still free.
 *
 * @param seen what was read of the key before: then only that is dropped. A run that has begun since stays
 * @returns what there was; undefined if it was no longer what had been `seen`, and nothing was dropped
 * @throws SpillwayError as `readIdempotencyKey`
 * @example
 * ```ts run
 * import { memoryStore } from '@spillway/core';
 * import { dropIdempotencyKey } from '@spillway/core/store';
 *
 * const { state } = await dropIdempotencyKey(memoryStore(), { limiter: 'once', scope: 'ada', key: 'order-17' });
 * state; // 'free'
 * ```
 */
export async function dropIdempotencyKey(
  store: Store,
  name: IdempotencyKeyName,
): Promise<IdempotencyKeyState>;
export async function dropIdempotencyKey(
  store: Store,
  name: IdempotencyKeyName,
  seen: Pick<IdempotencyKeyState, 'state' | 'owner'>,
): Promise<IdempotencyKeyState | undefined>;
export async function dropIdempotencyKey(
  store: Store,
  name: IdempotencyKeyName,
  seen?: Pick<IdempotencyKeyState, 'state' | 'owner'>,
): Promise<IdempotencyKeyState | undefined> {
  const now = await readIdempotencyKey(store, name);
  const { state, owner, size } = now;
  if (seen && (state !== seen.state || owner !== seen.owner)) return undefined;
  if (seen && state === 'running') {
    const { allowed } = await ask(store, stepOn(name, 'put', owner)); // only as long as it runs
    return allowed ? now : undefined;
  }
  const step = stepOn(name, 'reset');
  // First the answer: once the claim is gone, nobody knows under which owner it is.
  if (size > 0) {
    const value = { limiter: step.limiter, key: step.key, id: owner };
    await store.values?.set(value, new Uint8Array(0), 1_000);
  }
  await ask(store, step);
  return now;
}

async function ask(store: Store, step: Step): Promise<ClaimsAnswer> {
  const [answer] = await store.apply([step]);
  if (answer?.failure) throw answer.failure;
  return answer as ClaimsAnswer;
}

function stepOn(
  { limiter, scope, key: id }: IdempotencyKeyName,
  op: Op,
  owner: string = newOwner(),
): Step {
  const key = asKey(scope);
  if (key === undefined) {
    throw new SpillwayError('SPW_SCOPE_INVALID', 'scope must be a text of 1 to 8,192 units');
  }
  if (!/^[ -~]{1,255}$/.test(id) && keyIn(id) === undefined) {
    throw new SpillwayError(
      'SPW_KEY_INVALID',
      'key can be no idempotency key: it must be 1 to 255 printable ASCII characters',
    );
  }
  const claim = { id: keyIn(id) ?? id, owner };
  const rule = makeClaimsRule(30_000_000, 86_400_000_000); // no look or reset depends on its numbers
  return { op, limiter, key, rule, cost: 1, binding: true, claim };
}

/** The structured-field string of RFC 9651: printable ASCII in quotes; `"` and `\` are escaped. */
const QUOTED = /^"((?:[ !#-[\]-~]|\\["\\])*)"$/;

/** What nearly all clients send: the same without quotes, spaces, and what separates list members and parameters. */
const BARE = /^[!#-+\--:<-[\]-~]+$/;

const LONGEST = 255;

/**
 * The key in the value of an `Idempotency-Key` field (draft-ietf-httpapi-idempotency-key-header-07), quoted or bare:
 * 1 to 255 characters. Undefined for anything else, so also for two fields, parameters and what is not ASCII.
 */
export function keyIn(value: string): string | undefined {
  const text = value.trim();
  if (text.length > 2 * LONGEST + 2) return undefined;
  const quoted = QUOTED.exec(text)?.[1]?.replace(/\\(.)/g, '$1');
  const key = quoted ?? (BARE.test(text) ? text : '');
  return key.length >= 1 && key.length <= LONGEST ? key : undefined;
}
