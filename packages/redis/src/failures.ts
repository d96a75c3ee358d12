/** The errors of a call. Their messages contain no keys, addresses or passwords; `cause` may. */

import { isSpillwayError, SpillwayError } from '@spillway/core';

/** The first word of Redis's own errors, and our `kind` for it. All other errors of Redis are `other`. */
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

/** What one node of a Cluster answers, of keys in several slots and of a key that another node has or gets. */
const OF_CLUSTER: ReadonlySet<string> = new Set(['CROSSSLOT', 'MOVED', 'ASK']);

/** How Redis 6.2 to 8 and Valkey say that the user may not run a command, called directly or in the script. */
const DENIED =
  /^-?NOPERM\b|ACL failure in script|user executing the script can't|no permissions? to/i;
/** The command in that message: Redis 7.2 and later always name it, others only for the call itself. */
const DENIED_COMMAND = /\bto run the '([\w|.-]{1,32})' command/i;

/** Redis 6.2 puts the place before an error that a script met: `@user_script: 318: ` or `=(tail call): -1: `. */
const WORD = /^(?:ERR Error running script .*?: )?(?:[@=][\w()[\] ]+: ?-?\d+: )*-?([A-Z]+)(?= |$)/;
/** Redis reads no long command of a client that is no user: `NOAUTH` is said to short ones only. */
const UNAUTHENTICATED = /^-?ERR Protocol error: unauthenticated/;

/**
 * Errors that every call to this server gets. They open the breaker, so that there is one report and requests do not
 * wait for nothing. `readonly` and `oom` are here too: such a server can still refuse, but it no longer counts, so its
 * answers are soon wrong. `noperm` is not here: the user may lack a right for one command, or for the keys of one
 * limiter, and other calls work.
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

/** Redis, or the connection to it, failed a call. Nobody knows whether it was charged. */
export function failedCall(cause: unknown, isCluster = false): SpillwayError {
  if (isSpillwayError(cause)) return cause;
  if (DENIED.test(messageOf(cause))) return deniedCall(messageOf(cause), cause);
  const word = wordOf(messageOf(cause));
  if (word)
    return refusedCall(word, `the call to Redis failed: ${word}${hintFor(word, isCluster)}`, cause);
  const name = cause instanceof Error ? cause.name : 'unknown';
  const message = `the call to Redis was lost: ${name}`;
  return new SpillwayError('SPW_STORE_UNAVAILABLE', message, { cause, kind: 'connection' });
}

/** A call failed in this process before it was sent. Nothing was charged, and the server is not the reason. */
export function unsent(cause: unknown): SpillwayError {
  if (isSpillwayError(cause)) return cause;
  const name = cause instanceof Error ? cause.name : 'unknown';
  const message = `the call to Redis could not be made: ${name}`;
  return new SpillwayError('SPW_STORE_ERROR', message, { cause, kind: 'unsent' });
}

/** The script met an error while it decided one group. Other groups of the call were decided. */
export function failedGroup(text: string): SpillwayError {
  if (DENIED.test(text)) return deniedCall(text);
  const word = wordOf(text) ?? '';
  return refusedCall(KINDS[word] ? word : '', `Redis could not decide: ${text}`);
}

/** The reply is not one that the script makes. Nobody knows whether anything was charged. */
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

/** Nobody waits for the answer any more. Nothing was charged. */
export function tooLate(): SpillwayError {
  return new SpillwayError('SPW_STORE_TIMEOUT', 'the deadline passed before Redis could decide');
}

/** A call was sent, and nobody waits for its answer any more. It may have been run. */
export function unanswered(): SpillwayError {
  return new SpillwayError('SPW_STORE_TIMEOUT', 'Redis did not answer in time');
}

/** Whether Redis does not know the script yet. Then nothing was run. */
export function isUnknownScript(cause: unknown): boolean {
  return messageOf(cause).startsWith('NOSCRIPT');
}

/**
 * The user may not do what the script does. This is about one call: the user may have the rights that other limits
 * need.
 */
function deniedCall(text: string, cause?: unknown): SpillwayError {
  const command = DENIED_COMMAND.exec(text)?.[1];
  const what =
    command === undefined ? 'run a command of the script, or touch a key' : `run '${command}'`;
  const message = `NOPERM: the Redis user may not ${what}; docs/operations.md lists the rights`;
  return refusedCall('NOPERM', message, cause);
}

/** The word in capitals that Redis's own errors begin with. The rest of the text may contain keys. */
function wordOf(text: string): string | undefined {
  return UNAUTHENTICATED.test(text) ? 'NOAUTH' : WORD.exec(text)?.[1];
}

/** What to pass, or to set. The store of a client for clusters keeps slots apart. */
function hintFor(word: string, isCluster: boolean): string {
  if (!OF_CLUSTER.has(word)) return '';
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

/** An error with which Redis itself answered; without a word, an error of the script. */
function refusedCall(word: string, message: string, cause?: unknown): SpillwayError {
  const kind = word === '' ? 'script' : (KINDS[word] ?? 'other');
  const code = FOR_ALL.has(kind) ? 'SPW_STORE_UNAVAILABLE' : 'SPW_STORE_ERROR';
  return new SpillwayError(code, message, cause === undefined ? { kind } : { cause, kind });
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : '';
}
