/** The errors of a call. Messages contain no keys, addresses or passwords; `cause` may. */

import { isSpillwayError, SpillwayError } from '@spillway/core';

/** Redis's error words, and our `kind` for each. The `kind` of other words is `other`. */
const KINDS: Readonly<Record<string, string>> = {
  NOSCRIPT: 'noscript',
  LOADING: 'loading',
  READONLY: 'readonly',
  OOM: 'oom',
  CROSSSLOT: 'crossslot',
  MOVED: 'moved',
  ASK: 'moved',
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

/**
 * Error words of a Cluster node that can't run a call, because the call's keys are in several slots, on another node,
 * or moving to one.
 */
const CLUSTER_WORDS: ReadonlySet<string> = new Set(['CROSSSLOT', 'MOVED', 'ASK']);

/**
 * The messages of Redis 6.2 to 8 and Valkey if the user may not run a command or access a key, directly or in the
 * script.
 */
const DENIED =
  /^-?NOPERM\b|ACL failure in script|user executing the script can't|no permissions? to/i;
/**
 * The command in the message of {@link DENIED}. Redis 7.2 and later always name it. Older versions name it only if it
 * is the command of the call, and not one in the script.
 */
const DENIED_COMMAND = /\bto run the '([\w|.-]{1,32})' command/i;

/** The error word. Redis 6.2 puts the position in a script before it: `@user_script: 318: ` or `=(tail call): -1: `. */
const WORD = /^(?:ERR Error running script .*?: )?(?:[@=][\w()[\] ]+: ?-?\d+: )*-?([A-Z]+)(?= |$)/;
/** The reply to long commands of an unauthenticated client. Short commands get `NOAUTH`. */
const UNAUTHENTICATED = /^-?ERR Protocol error: unauthenticated/;

/**
 * Errors that every call to this server gets. They open the circuit breaker, so requests don't wait. `readonly` and
 * `oom` are included, because such a server answers from old counts but counts no more requests. `noperm` is not,
 * because calls with other commands or keys may work.
 */
const SERVER_WIDE: ReadonlySet<string> = new Set([
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

/** The error of a failed call. The call may have been charged. */
export function failedCall(cause: unknown, isCluster = false): SpillwayError {
  if (isSpillwayError(cause)) return cause;
  if (isTimeout(cause)) return unanswered();
  if (DENIED.test(messageOf(cause))) return deniedCall(messageOf(cause), cause);
  const word = wordOf(messageOf(cause));
  if (word)
    return errorReply(word, `the call to Redis failed: ${word}${hintFor(word, isCluster)}`, cause);
  const name = cause instanceof Error ? cause.name : 'unknown';
  const message = `the call to Redis was lost: ${name}`;
  return new SpillwayError('SPW_STORE_UNAVAILABLE', message, { cause, kind: 'connection' });
}

/** A call failed in this process before it was sent. Nothing was charged, and the server is not the cause. */
export function unsent(cause: unknown): SpillwayError {
  if (isSpillwayError(cause)) return cause;
  const name = cause instanceof Error ? cause.name : 'unknown';
  const message = `the call to Redis could not be made: ${name}`;
  return new SpillwayError('SPW_STORE_ERROR', message, { cause, kind: 'unsent' });
}

/** The script failed on one group. Other groups of the call were decided. */
export function failedGroup(text: string): SpillwayError {
  if (DENIED.test(text)) return deniedCall(text);
  const word = wordOf(text) ?? '';
  return errorReply(KINDS[word] ? word : '', `Redis could not decide: ${text}`);
}

/** For a reply that the script cannot have sent. It is unknown whether anything was charged. */
export function noReply(cause?: unknown): SpillwayError {
  if (isSpillwayError(cause)) return cause;
  return new SpillwayError(
    'SPW_STORE_ERROR',
    'the reply is not one of the Spillway script: check for a proxy in front of Redis, or a client that changes replies',
    { ...(cause !== undefined && { cause }), kind: 'reply' },
  );
}

export function unavailable(state: string): SpillwayError {
  return new SpillwayError(
    'SPW_STORE_UNAVAILABLE',
    `the Redis client is not ready: its state is ${state}`,
    {
      kind: 'connection',
    },
  );
}

/** Nothing was charged. */
export function tooLate(): SpillwayError {
  return new SpillwayError('SPW_STORE_TIMEOUT', 'the deadline passed before Redis could decide');
}

/** The call was sent and may have been run. */
export function unanswered(): SpillwayError {
  return new SpillwayError('SPW_STORE_TIMEOUT', 'Redis did not answer in time');
}

/** Whether ioredis with `commandTimeout` stopped waiting for a reply. The connection may be dead. */
export function isTimeout(cause: unknown): boolean {
  return messageOf(cause).startsWith('Command timed out');
}

export function isUnknownScript(cause: unknown): boolean {
  return messageOf(cause).startsWith('NOSCRIPT');
}

/**
 * The error for a missing permission. It does not open the circuit breaker, because other limiters may not need the
 * permission.
 */
function deniedCall(text: string, cause?: unknown): SpillwayError {
  const command = DENIED_COMMAND.exec(text)?.[1];
  const what =
    command === undefined ? 'run a command of the script, or touch a key' : `run '${command}'`;
  const message = `NOPERM: the Redis user may not ${what}; docs/operations.md lists the rights`;
  return errorReply('NOPERM', message, cause);
}

/** The error word at the start of Redis's message. The rest of the message may contain keys. */
function wordOf(text: string): string | undefined {
  return UNAUTHENTICATED.test(text) ? 'NOAUTH' : WORD.exec(text)?.[1];
}

/**
 * Advice for errors of a Cluster. With a cluster client, `CROSSSLOT` gets no advice, because the store never mixes
 * slots.
 */
function hintFor(word: string, isCluster: boolean): string {
  if (!CLUSTER_WORDS.has(word)) return '';
  if (!isCluster) {
    return (
      '; this Redis is a node of a Cluster: pass a client for clusters, such as new Cluster([...]) of ioredis or ' +
      'createCluster() of node-redis'
    );
  }
  return word !== 'CROSSSLOT'
    ? '; the client did not follow the key to its new node: with enableAutoPipelining of ioredis, set ' +
        "autoPipeliningIgnoredCommands: ['evalsha', 'eval'] too"
    : '';
}

function errorReply(word: string, message: string, cause?: unknown): SpillwayError {
  const kind = word === '' ? 'script' : (KINDS[word] ?? 'other');
  const code = SERVER_WIDE.has(kind) ? 'SPW_STORE_UNAVAILABLE' : 'SPW_STORE_ERROR';
  return new SpillwayError(code, message, cause === undefined ? { kind } : { cause, kind });
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : '';
}
