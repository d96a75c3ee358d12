import { checkOptions } from '../base/check-shapes.js';
import { shareFromZero } from '../base/checks.js';
import { mustBe } from '../base/errors.js';
import { type Fingerprint, fingerprint, randomSeed } from '../base/fingerprint.js';
import { randomOf } from '../base/hint.js';
import type { NamesOf } from '../base/option-names.js';
import type { Mode, Outcome, Reason } from '../contract/decision.js';
import type { DecisionEvent, Observer } from '../contract/observer.js';
import { COMMON, checkOutcomes, OUTCOMES } from './outcomes.js';
import { checkSecret } from './secret.js';

/** One decision, for a log line. Numbers that are unknown or infinite are omitted. */
export interface DecisionLogEntry {
  readonly limiter: string;
  readonly outcome: Outcome;
  readonly allowed: boolean;
  readonly mode: Mode;
  readonly cost: number;
  /** The sampling rate: each line stands for `1 / share` decisions like this. */
  readonly share: number;
  readonly reason?: Reason;
  readonly priority?: string;
  readonly plan?: string;
  /** The load signal that made a shedder reject. */
  readonly signal?: string;
  /** Hash of the key: 16 hexadecimal digits, equal for the same key and secret. */
  readonly keyHash?: string;
  readonly used?: number;
  readonly remaining?: number;
  readonly retryAfterMs?: number;
  readonly resetMs?: number;
}

export interface DecisionLogOptions {
  /** Writes an entry. Called during the request, so use a logger that buffers. */
  readonly write: (entry: DecisionLogEntry) => void;
  /** Sampling rate of `allowed`, `replayed`, `would-replay` and `skipped`, 0 to 1. Default 0.01. */
  readonly sample?: number | undefined;
  /** Sampling rate of `denied`, `would-deny` and `error`, 0 to 1. Default 1. */
  readonly sampleRejected?: number | undefined;
  /** The outcomes that are written. Default: all but `skipped`. */
  readonly outcomes?: readonly Outcome[] | undefined;
  /**
   * The secret for hashing keys: at least 16 characters, the same in all processes whose lines you compare. Default: a
   * random one for each `decisionLog()`.
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

export interface DecisionLog extends Observer {
  onDecision(event: DecisionEvent, key: string | undefined): void;
  /** The `keyHash` of a key, to find a caller's lines. The key of a client address is `@` and the address. */
  hashOf(key: string): string;
}

const WRITTEN: readonly Outcome[] = /* @__PURE__ */ OUTCOMES.filter(
  (outcome) => outcome !== 'skipped',
);
/** Domain separation: if the secret has other uses, they produce different hashes. */
const SECRET_SEED: Fingerprint = { lo: 0x73706c77, hi: 0x6c6f6773 };

/**
 * Writes a sample of the decisions to a log, with hashed keys. The hash (HalfSipHash, 64 bits) keeps keys out of the
 * log and still shows which lines belong to the same caller. It is not anonymization: anyone who has the secret can
 * hash candidates, such as all IPv4 addresses.
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
  const { write, secret, outcomes = WRITTEN } = options;
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
    // Returns the result of `write`: if it is a promise that rejects, the guard reports a fault.
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
