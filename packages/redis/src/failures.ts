/** The errors that a call ends with. Their messages hold no keys, addresses or passwords: those may be in the cause. */

import { isSpillwayError, SpillwayError } from '@spillway/core';

/** How Redis's own errors begin, and what they are called in `kind`. All others that Redis answers with are `other`. */
const KINDS: Readonly<Record<string, string>> = {
  NOSCRIPT: 'noscript',
  LOADING: 'loading',
  READONLY: 'readonly',
  OOM: 'oom',
  CROSSSLOT: 'crossslot',
  NOPERM: 'noperm',
  NOAUTH: 'noauth',
  WRONGPASS: 'noauth',
  BUSY: 'busy',
  MASTERDOWN: 'masterdown',
  CLUSTERDOWN: 'clusterdown',
  TRYAGAIN: 'tryagain',
  MISCONF: 'misconf',
  NOREPLICAS: 'noreplicas',
};

/** Redis 6.2 to 8 and Valkey say in these ways that the user lacks a right: to a command of ours, or in the script. */
const DENIED =
  /^-?NOPERM\b|ACL failure in script|user executing the script can't|no permissions? to/i;
/** From Redis 7.2 on, and for the call itself always, they say to which command. */
const DENIED_COMMAND = /\bto run the '([\w|.-]{1,32})' command/i;

/**
 * Of a server, not of a key: whoever asks next is told the same, after a round trip that decides nothing. They open the
 * breaker, so that
 * the outage is told once, and costs no request anything. `readonly` and `oom` are among them though such a server can
 * still
 * refuse: it can no longer count, so that what it says is soon untrue. `noperm` is not: a right may be missing for one
 * command, or for the
 * keys of one limiter, and such a call is answered as fast as any other.
 */
const FOR_ALL: ReadonlySet<string> = new Set([
  'loading',
  'readonly',
  'oom',
  'noauth',
  'busy',
  'masterdown',
  'clusterdown',
  'misconf',
  'noreplicas',
]);

/** Redis, or the way to it, failed a call: whether it was charged is not known. */
export function failedCall(cause: unknown): SpillwayError {
  if (isSpillwayError(cause)) return cause;
  if (DENIED.test(messageOf(cause))) return deniedCall(messageOf(cause), cause);
  // Redis's own errors begin with a word in capitals; the rest may name anything.
  const word = /^-?([A-Z]+)(?= |$)/.exec(messageOf(cause))?.[1];
  if (word) return refusedCall(word, `the call to Redis failed: ${word}`, cause);
  const name = cause instanceof Error ? cause.name : 'unknown';
  const message = `the call to Redis was lost: ${name}`;
  return new SpillwayError('SPW_STORE_UNAVAILABLE', message, { cause, kind: 'connection' });
}

/** A call failed in this process before it was sent: nothing was charged, and the server has no part in it. */
export function unsent(cause: unknown): SpillwayError {
  if (isSpillwayError(cause)) return cause;
  const name = cause instanceof Error ? cause.name : 'unknown';
  const message = `the call to Redis could not be made: ${name}`;
  return new SpillwayError('SPW_STORE_ERROR', message, { cause, kind: 'unsent' });
}

/** The script met an error while it decided on one group; others of the same call were decided. */
export function failedGroup(text: string): SpillwayError {
  if (DENIED.test(text)) return deniedCall(text);
  const word = /^-?([A-Z]+)(?= |$)/.exec(text)?.[1] ?? '';
  return refusedCall(KINDS[word] ? word : '', `Redis could not decide: ${text}`);
}

/** What came back is not what the script replies. Whether anything was charged is not known. */
export function noReply(): SpillwayError {
  return new SpillwayError(
    'SPW_STORE_ERROR',
    'what came back is no reply of the script: is there a proxy before Redis, or a client that changes replies?',
    { kind: 'reply' },
  );
}

/** The client is not connected: nothing was sent. */
export function unavailable(state: string): SpillwayError {
  return new SpillwayError('SPW_STORE_UNAVAILABLE', `the Redis client is not ready but ${state}`, {
    kind: 'connection',
  });
}

/** Nobody waits any more: nothing was charged. */
export function tooLate(): SpillwayError {
  return new SpillwayError('SPW_STORE_TIMEOUT', 'the deadline passed before Redis could decide');
}

/** Whether Redis does not know the script yet: then nothing has been run. */
export function isUnknownScript(cause: unknown): boolean {
  return messageOf(cause).startsWith('NOSCRIPT');
}

/**
 * The user may not do what the script does: of this call, for the same user may have the rights that other limits
 * need.
 */
function deniedCall(text: string, cause?: unknown): SpillwayError {
  const command = DENIED_COMMAND.exec(text)?.[1];
  const what =
    command === undefined ? 'run a command of the script, or touch a key' : `run '${command}'`;
  const message = `NOPERM: the Redis user may not ${what}; docs/operations.md lists the rights`;
  return refusedCall('NOPERM', message, cause);
}

/** What Redis itself answered with; without a word, what the script did. */
function refusedCall(word: string, message: string, cause?: unknown): SpillwayError {
  const kind = word === '' ? 'script' : (KINDS[word] ?? 'other');
  const code = FOR_ALL.has(kind) ? 'SPW_STORE_UNAVAILABLE' : 'SPW_STORE_ERROR';
  return new SpillwayError(code, message, cause === undefined ? { kind } : { cause, kind });
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : '';
}
