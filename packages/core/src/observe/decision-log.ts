/** An observer for logs: a sample of the decisions, without the keys. */

import { checkOptions } from '../base/check-shapes.js';
import { shareFromZero } from '../base/checks.js';
import { mustBe, SpillwayError } from '../base/errors.js';
import { type Fingerprint, fingerprint, randomSeed } from '../base/fingerprint.js';
import { randomOf } from '../base/hint.js';
import type { NamesOf } from '../base/option-names.js';
import type { Mode, Outcome, Reason } from '../contract/decision.js';
import type { DecisionEvent, Observer } from '../contract/observer.js';
import { COMMON, checkOutcomes, OUTCOMES } from './outcomes.js';

/** One decision, for a line of a log. Numbers that are not known, or infinite, are left out. */
export interface DecisionLogEntry {
  readonly limiter: string;
  readonly outcome: Outcome;
  readonly allowed: boolean;
  readonly mode: Mode;
  readonly cost: number;
  /** The share of such decisions that is written: each line stands for `1 / share` of them. */
  readonly share: number;
  readonly reason?: Reason;
  readonly priority?: string;
  /** The name of the caller's plan. */
  readonly plan?: string;
  /** The load signal for which a shedder refused. */
  readonly signal?: string;
  /** Stands for the key: 16 hexadecimal digits, the same for the same key under the same secret. */
  readonly keyHash?: string;
  readonly used?: number;
  readonly remaining?: number;
  readonly retryAfterMs?: number;
  readonly resetMs?: number;
}

/** Options of {@link decisionLog}. */
export interface DecisionLogOptions {
  /** Takes an entry, on the request's way: hand it to a logger that buffers. */
  readonly write: (entry: DecisionLogEntry) => void;
  /** The share of what passes or is repeated that is written, 0 to 1. Default 0.01. */
  readonly sample?: number | undefined;
  /**
   * The share of the rest that is written: `denied`, `would-deny`, `error`. Default 1; less where a flood must not fill
   * the log.
   */
  readonly sampleRejected?: number | undefined;
  /** Which outcomes are written at all. Default all but `skipped`. */
  readonly outcomes?: readonly Outcome[] | undefined;
  /**
   * Keys are hashed with it; at least 16 characters, the same in all processes whose lines are to be compared. Default:
   * a random one, so that hashes can be compared within one process only.
   */
  readonly secret?: string | undefined;
  /** Returns a random number from 0 up to 1; for tests. Default `Math.random`. */
  readonly random?: (() => number) | undefined;
}

const NAMES: NamesOf<DecisionLogOptions> = {
  write: 1,
  sample: 1,
  sampleRejected: 1,
  outcomes: 1,
  secret: 1,
  random: 1,
};

/** The observer, with the hash that it writes for a key. */
export interface DecisionLog extends Observer {
  onDecision(event: DecisionEvent, key: string | undefined): void;
  /** What `keyHash` is for a key: to find a caller's lines. A client's address is the key `@` and the address. */
  hashOf(key: string): string;
}

const WRITTEN: readonly Outcome[] = /* @__PURE__ */ OUTCOMES.filter(
  (outcome) => outcome !== 'skipped',
);
const SHORTEST_SECRET = 16;
/** Makes the same text another secret here than elsewhere. */
const SECRET_SEED: Fingerprint = { lo: 0x73706c77, hi: 0x6c6f6773 };

/**
 * Writes a sample of the decisions to a log, with hashes for keys. The hash (HalfSipHash, 64 bits) tells lines of one
 * caller from those of others and keeps keys out of the log; it does not make them anonymous: who has the secret can
 * try keys, and there are few addresses.
 *
 * @throws SpillwayError `SPW_OPTION_INVALID`, `SPW_OPTION_UNKNOWN`
 * @example
 * ```ts
 * import { createGuard, decisionLog, rateLimit } from '@spillway/core';
 *
 * const log = decisionLog({
 *   write: (entry) => console.log(JSON.stringify(entry)),
 *   sample: 0.001,
 *   secret: 'keep this one with your other secrets',
 * });
 * createGuard(rateLimit({ limit: 100, window: '1m' }), { observers: [log] });
 * ```
 */
export function decisionLog(options: DecisionLogOptions): DecisionLog {
  checkOptions(options, 'decisionLog()', NAMES);
  const { write, secret } = options;
  const { outcomes = WRITTEN } = options;
  if (typeof write !== 'function') throw mustBe('write', 'a function', write);
  checkOutcomes(outcomes);
  checkSecret(secret);
  const sample = shareFromZero('sample', options.sample ?? 0.01);
  const sampleRejected = shareFromZero('sampleRejected', options.sampleRejected ?? 1);
  const random = randomOf(options);
  let seed = secret === undefined ? undefined : fingerprint(secret, SECRET_SEED);
  const hashOf = (key: string): string => {
    seed ??= randomSeed();
    const { lo, hi } = fingerprint(key, seed);
    return hex(hi) + hex(lo);
  };
  return {
    hashOf,
    // What `write` returns is returned: if it is a promise that rejects, the guard reports a fault.
    onDecision(event, key): unknown {
      const { outcome } = event;
      if (!outcomes.includes(outcome)) return undefined;
      const share = COMMON.includes(outcome) ? sample : sampleRejected;
      if (share < 1 && random() >= share) return undefined;
      return write(entryOf(event, key === undefined ? undefined : hashOf(key), share));
    },
  };
}

function entryOf(event: DecisionEvent, keyHash: string | undefined, share: number) {
  const { limiter, outcome, allowed, mode, cost, reason, priority, signal, policy } = event;
  const entry: { -readonly [Field in keyof DecisionLogEntry]: DecisionLogEntry[Field] } = {
    limiter,
    outcome,
    allowed,
    mode,
    cost,
    share,
  };
  if (reason !== null) entry.reason = reason;
  if (priority !== undefined) entry.priority = priority;
  if (policy?.plan !== undefined) entry.plan = policy.plan;
  if (signal !== undefined) entry.signal = signal;
  if (keyHash !== undefined) entry.keyHash = keyHash;
  for (const field of ['used', 'remaining', 'retryAfterMs', 'resetMs'] as const) {
    if (Number.isFinite(event[field])) entry[field] = event[field];
  }
  return entry;
}

function hex(half: number): string {
  return (half >>> 0).toString(16).padStart(8, '0');
}

/** The message does not show it: it stays a secret. */
function checkSecret(secret: string | undefined): void {
  if (secret === undefined || (typeof secret === 'string' && secret.length >= SHORTEST_SECRET))
    return;
  throw new SpillwayError(
    'SPW_OPTION_INVALID',
    `secret must be a string of at least ${SHORTEST_SECRET} characters`,
  );
}
