import { checkOptions } from '../../base/check-shapes.js';
import { shareFromZero } from '../../base/checks.js';
import { mustBe } from '../../base/errors.js';
import { randomOf } from '../../base/hint.js';
import { disregard } from '../../base/host.js';
import type { NamesOf } from '../../base/option-names.js';
import type { DecisionEvent, Observer } from '../../contract/observer.js';
import type { LimitRequest } from '../../contract/request.js';
import { CallerSeal } from '../callers/sealed-caller.js';
import { checkSecret } from '../secret.js';
import { type Cause, Causes, type Verdict } from './likely-cause.js';

/** A request that the two limiters decided differently, for a log line. */
export interface Divergence {
  /** The name of our limiter. */
  readonly limiter: string;
  readonly cause: Cause;
  readonly ours: Verdict;
  readonly theirs: Verdict;
  /** The sampling rate: each line stands for `1 / share` divergences. */
  readonly share: number;
}

export interface CompareOptions {
  /** Writes a divergence to your logger. Default: divergences are only counted. */
  readonly write?: ((divergence: Divergence) => void) | undefined;
  /** Sampling rate of the divergences that are written, 0 to 1. Default 0.1. */
  readonly sample?: number | undefined;
  /** The name of the limiter to compare. Default: all limiters of the guard that are in shadow mode, together. */
  readonly limiter?: string | undefined;
  /** A secret of at least 16 characters that encrypts keys, as in `topCallers`. */
  readonly secret?: string | undefined;
  /** Returns a random number from 0 up to 1; for tests. Default `Math.random`. */
  readonly random?: (() => number) | undefined;
}

const NAMES: NamesOf<CompareOptions> = { write: 1, sample: 1, limiter: 1, secret: 1, random: 1 };

/** The observer that {@link compareWith} returns. The counts can be read at any time. */
export interface Comparison extends Observer {
  /** Requests that both limiters decided alike. */
  readonly agreed: number;
  /** Requests that only the other limiter rejected. */
  readonly onlyTheirs: number;
  /** Requests that only our limiter would have rejected. */
  readonly onlyOurs: number;
  readonly causes: Readonly<Record<Cause, number>>;
}

/**
 * Makes an observer that compares a limiter in shadow mode with the limiter that it will replace. It counts agreements
 * and divergences, and writes a sample of the divergences, with both verdicts and the likely cause.
 *
 * @param read returns the decision of the other limiter, or undefined if there was none. Called once for each request
 * that our limiter decided on and the guard let pass, after its response. It must only read the decision: calling the
 * other limiter would charge the request
 * @throws SpillwayError `SPW_OPTION_INVALID`, `SPW_OPTION_UNKNOWN`
 * @example
 * ```ts
 * import { createGuard, rateLimit } from '@spillway/core';
 * import { compareWith } from '@spillway/core/compare';
 *
 * // express-rate-limit leaves what it decided on the request.
 * interface Request { rateLimit?: { limit: number; remaining: number; used: number; key: string } }
 *
 * const comparison = compareWith<Request>(
 *   ({ rateLimit: old }) => old && { ...old, allowed: old.used <= old.limit },
 *   { write: (divergence) => console.log(JSON.stringify(divergence)) },
 * );
 * createGuard<Request>(rateLimit({ limit: 100, window: '1m', mode: 'shadow' }), {
 *   observers: [comparison],
 * });
 * ```
 */
export function compareWith<Raw = unknown>(
  read: (raw: Raw) => Verdict | undefined,
  options: CompareOptions = {},
): Comparison {
  checkOptions(options, 'compareWith()', NAMES);
  const { write, sample = 0.1, limiter: compared, secret } = options;
  for (const [name, callback] of Object.entries({ read, write: write ?? read }))
    if (typeof callback !== 'function') throw mustBe(name, 'a function', callback);
  checkSecret(secret);
  shareFromZero('sample', sample);
  const random = randomOf(options);
  const seal = secret === undefined ? undefined : new CallerSeal(secret);
  const seen = new WeakMap<LimitRequest, Seen>();
  const likely = new Causes();
  const concerns = ({ limiter, mode, outcome }: DecisionEvent): boolean => {
    if (outcome !== 'allowed' && outcome !== 'would-deny') return false;
    return compared === undefined ? mode === 'shadow' : compared === limiter;
  };
  const sealed = (verdict: Verdict): Verdict => {
    const { key } = verdict;
    return seal && key !== undefined ? { ...verdict, key: seal.seal(key) } : verdict;
  };
  const comparison = {
    agreed: 0,
    onlyTheirs: 0,
    onlyOurs: 0,
    causes: { key: 0, cost: 0, limit: 0, window: 0, unknown: 0 },
    onDecision(event: DecisionEvent, key: string | undefined, request: LimitRequest | undefined) {
      if (!request || !concerns(event)) return;
      const before = seen.get(request)?.event;
      if (before === undefined || isStricter(event, before)) seen.set(request, { event, key });
    },
    onEnd(request: LimitRequest) {
      const own = seen.get(request);
      if (!own) return;
      seen.delete(request);
      const theirs = verdictFrom(read(request.raw as Raw));
      if (!theirs) return;
      const ours = verdictOf(own);
      const cause = likely.observe(ours, theirs);
      if (ours.allowed === theirs.allowed) {
        comparison.agreed += 1;
        return;
      }
      if (ours.allowed) comparison.onlyTheirs += 1;
      else comparison.onlyOurs += 1;
      comparison.causes[cause] += 1;
      if (!write || random() >= sample) return;
      const { limiter } = own.event;
      disregard(
        write({ limiter, cause, ours: sealed(ours), theirs: sealed(theirs), share: sample }),
      );
    },
  };
  return comparison;
}

const FACTS = Object.entries({
  allowed: 'boolean',
  remaining: 'number',
  used: 'number',
  limit: 'number',
  key: 'string',
  cost: 'number',
  resetMs: 'number',
} satisfies Record<keyof Verdict, string>) as [keyof Verdict, string][];

interface Seen {
  readonly event: DecisionEvent;
  readonly key: string | undefined;
}

function verdictFrom(read: unknown): Verdict | undefined {
  if (read === undefined || read === null) return undefined;
  const given = read as Verdict;
  // `mustBe` handles the rejection of a promise, which is not a verdict.
  if (typeof given.allowed !== 'boolean') throw mustBe('allowed of a verdict', 'a boolean', read);
  const facts = FACTS.filter(([name, type]) => typeof given[name] === type);
  return Object.fromEntries(facts.map(([name]) => [name, given[name]])) as unknown as Verdict;
}

/** Of the limiters of a request, only the strictest is compared. */
function isStricter(one: DecisionEvent, other: DecisionEvent): boolean {
  if (one.outcome !== other.outcome) return one.outcome === 'would-deny';
  return one.remaining < other.remaining || Number.isNaN(other.remaining);
}

function verdictOf({ event, key }: Seen): Verdict {
  const { outcome, remaining, used, policy, cost, resetMs } = event;
  const limit = policy?.limit;
  // Spillway adds the prefix `@` to addresses, to lists, and to keys that already begin with `@`. The other limiter has
  // no such prefix.
  return {
    allowed: outcome === 'allowed',
    remaining,
    used,
    limit,
    key: key?.replace(/^@/, ''),
    cost,
    resetMs,
  };
}
