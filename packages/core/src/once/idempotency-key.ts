import { makeClaimsRule } from '../algorithms/claims.js';
import { SpillwayError } from '../base/errors.js';
import { inTime } from '../base/within.js';
import type { ClaimsAnswer } from '../contract/rule.js';
import type { ApplyOptions, Op, Step, Store } from '../contract/store.js';
import { asKey } from '../limits/callbacks.js';
import { withDeadline } from '../stores/calls.js';
import { type Note, newOwner, noteIn } from './claim-note.js';
import { type AnswerRecord, decodeRecord } from './stored-response.js';

/** A store may never answer a call, for example on an ioredis client that does not resend lost calls. */
const TIMEOUT_US = 5_000_000;

export interface IdempotencyKeyName {
  /** The `name` of the `idempotency`. */
  readonly limiter: string;
  /** The caller, as returned by `scope`. */
  readonly scope: string;
  /** The key as the client sends it, with or without quotes. */
  readonly key: string;
}

export interface IdempotencyKeyState {
  /** `running`, `done`, or `free` if there is no claim. */
  readonly state: ClaimsAnswer['state'];
  /** The token of the run; empty if the key is free. */
  readonly owner: string;
  /** When the claim expires, in milliseconds since the epoch by the store's clock; 0 if the key is free. */
  readonly endsMs: number;
  /** Milliseconds until `endsMs`; 0 if the key is free. */
  readonly leftMs: number;
  /**
   * The note of a `done` claim. Undefined in other states, if the run stored none, or if a later version of Spillway
   * wrote it.
   */
  readonly note: Note | undefined;
  /** The stored response. Undefined if there is none, or if a later version of Spillway wrote it. */
  readonly answer: AnswerRecord | undefined;
  /** The size of the stored response in bytes, with its status and headers. */
  readonly size: number;
}

/**
 * Reads the state of an idempotency key, without changing it.
 *
 * @throws SpillwayError `SPW_SCOPE_INVALID` for an invalid scope, `SPW_KEY_INVALID` for an invalid key; any error of
 * the store, and an error if it does not answer within 5 s
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
  const { nowUs, state, owner, endsUs, note } = await askClaim(store, step);
  const isDone = state === 'done';
  const bytes = isDone
    ? await inTimeOrThrow((options) =>
        store.values?.get({ limiter: step.limiter, key: step.key, id: owner }, options),
      )
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
 * Frees an idempotency key, whatever its state, and deletes its stored response. The next request with the key runs. A
 * running handler is not stopped. If the key is still free when the handler's process renews its claim, the process
 * claims the key again.
 *
 * @param seen a state read earlier. The key is dropped only if it is still in this state, so that a newer run keeps its
 * claim
 * @returns the state before the drop; undefined if nothing was dropped, because the state differed from `seen`
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
    const { allowed } = await askClaim(store, stepOn(name, 'put', owner)); // only while this owner still runs
    return allowed ? now : undefined;
  }
  const step = stepOn(name, 'reset');
  // Delete the response first: its name contains the owner, which is unknown once the claim is gone.
  if (size > 0) {
    const value = { limiter: step.limiter, key: step.key, id: owner };
    await inTimeOrThrow((options) => store.values?.set(value, new Uint8Array(0), 1_000, options));
  }
  await askClaim(store, step);
  return now;
}

/** Not all values keep to the deadline. */
async function inTimeOrThrow<T>(call: (options: ApplyOptions) => T | PromiseLike<T>): Promise<T> {
  const result = await inTime(TIMEOUT_US / 1000, (deadlineUs) => call({ deadlineUs }));
  if ('error' in result) throw result.error;
  return result.value;
}

async function askClaim(store: Store, step: Step): Promise<ClaimsAnswer> {
  const [answer] = await withDeadline(store, TIMEOUT_US).apply([step]);
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
    throw new SpillwayError(
      'SPW_SCOPE_INVALID',
      'scope must be a string of 1 to 8,192 UTF-16 units',
    );
  }
  if (!/^[ -~]{1,255}$/.test(id) && keyIn(id) === undefined) {
    throw new SpillwayError(
      'SPW_KEY_INVALID',
      'key is not a valid idempotency key: it must be 1 to 255 printable ASCII characters',
    );
  }
  const claim = { id: keyIn(id) ?? id, owner };
  const rule = makeClaimsRule(30_000_000, 86_400_000_000); // the numbers do not matter for these operations
  return { op, limiter, key, rule, cost: 1, binding: true, claim };
}

/** The structured-field string of RFC 9651: printable ASCII in quotes; `"` and `\` are escaped. */
const QUOTED = /^"((?:[ !#-[\]-~]|\\["\\])*)"$/;

/** The form that nearly all clients send: a string without quotes, spaces, or separators of lists and parameters. */
const BARE = /^[!#-+\--:<-[\]-~]+$/;

const LONGEST = 255;

/**
 * The key in an `Idempotency-Key` header (draft-ietf-httpapi-idempotency-key-header-07), quoted or bare: 1 to 255 ASCII
 * characters. Undefined for any other value, such as several headers or a key with parameters.
 */
export function keyIn(value: string): string | undefined {
  const text = value.trim();
  if (text.length > 2 * LONGEST + 2) return undefined;
  const quoted = QUOTED.exec(text)?.[1]?.replace(/\\(.)/g, '$1');
  const key = quoted ?? (BARE.test(text) ? text : '');
  return key.length >= 1 && key.length <= LONGEST ? key : undefined;
}
