/** A limiter over a rate limit binding of Workers: near and cheap, and only about right. */

import {
  type Decision,
  fixedWindow,
  type LimitRequest,
  type Mode,
  type Per,
  type PerLater,
  rateLimit,
  type StepContext,
  type StoredLimiter,
} from '@spillway/core';
import { checkOptions, mustBe, type NamesOf } from '@spillway/core/adapter';
import { systemClock, within } from '@spillway/core/store';
import type { RateLimitBinding } from './platform.js';
import { objectNamer } from './store/object-namer.js';

/** Options of {@link approximateLimit}. */
export interface ApproximateLimitOptions<Raw = unknown> {
  /** Identifies the limit in problem bodies and metrics: 1 to 64 printable ASCII characters. */
  readonly name: string;
  /** The binding, such as `env.FLOOD`. */
  readonly binding: RateLimitBinding;
  /**
   * The limit of the binding, as in its configuration: shown to operators; the platform decides.
   */
  readonly limit: number;
  /**
   * The period of the binding in seconds, as in its configuration: a refused client is told to wait this long.
   */
  readonly period: 10 | 60;
  /**
   * What is counted apart; the function may be async. Default, and where it is empty, too long or fails: the client's
   * address.
   */
  readonly key?: PerLater<Raw, string | undefined> | undefined;
  /** `enforce` (default), `shadow` (counts, refuses nobody) or `off` (kill switch). */
  readonly mode?: Per<Raw, Mode> | undefined;
}

const NAMES: NamesOf<ApproximateLimitOptions> = {
  name: 1,
  binding: 1,
  limit: 1,
  period: 1,
  key: 1,
  mode: 1,
};

/** How long a request waits for the binding: it answers from the same machine, in a few milliseconds. */
const DEADLINE_MS = 100;
/** After so many failures in a row the binding rests: requests pass without waiting for it. */
const MOST_FAILURES = 5;
/** While it rests, one request in this time asks it. */
const REST_US = 1_000_000;

/** As an address that cannot be known is counted. */
const UNKNOWN_ADDRESS = '@unknown';

/**
 * Asks a rate limit binding of Workers, which counts in each of Cloudflare's locations apart and is eventually
 * consistent: approximate by its design. It answers yes or no, so a refusal has no `remaining`, and no `RateLimit`
 * field. Put it before exact limits, with a larger limit: what it refuses asks no store. If the binding fails, or does
 * not answer within 100 ms, the request passes, and `onFault` is called. After 5 failures in a row only one request per
 * second waits for the binding. What is set live for keys or for its limit does not change it.
 *
 * @throws SpillwayError `SPW_OPTION_INVALID`, `SPW_OPTION_UNKNOWN`, `SPW_LIMIT_INVALID`, `SPW_NAME_INVALID`,
 * `SPW_KEY_INVALID`
 * @example
 * ```ts
 * import { approximateLimit, durableObjectStore } from '@spillway/cloudflare';
 * import { createGuard, rateLimit } from '@spillway/core';
 *
 * const guard = createGuard(
 *   [
 *     approximateLimit({ name: 'flood', binding: env.FLOOD, limit: 1000, period: 10 }),
 *     rateLimit({ name: 'api', limit: 100, window: '1m' }),
 *   ],
 *   { store: durableObjectStore(env.LIMITS) },
 * );
 * ```
 */
export function approximateLimit<Raw = unknown>(
  options: ApproximateLimitOptions<Raw>,
): StoredLimiter<Raw> {
  checkOptions(options, 'approximateLimit()', NAMES);
  return new ApproximateLimiter(options);
}

/** Of the kind that may answer later; it never asks the store. */
class ApproximateLimiter<Raw> implements StoredLimiter<Raw> {
  readonly kind = 'stored';
  readonly named = true;
  readonly name: string;
  readonly mode: Per<Raw, Mode>;
  readonly rule: StoredLimiter['rule'];
  readonly notices: StoredLimiter['notices'];
  private readonly binding: RateLimitBinding;
  private readonly periodMs: number;
  /** Reads the key, and checks name, limit and mode. */
  private readonly inner: StoredLimiter<Raw>;
  private readonly digestOf: (key: string) => string = objectNamer();
  /** In a row. */
  private failures = 0;
  private restsUntilUs = 0;

  constructor({ name, binding, limit, period, key, mode }: ApproximateLimitOptions<Raw>) {
    if (typeof binding?.limit !== 'function') {
      throw mustBe('binding', 'a rate limit binding, such as env.FLOOD', binding);
    }
    if (period !== 10 && period !== 60) throw mustBe('period', '10 or 60', period);
    if (typeof name !== 'string') throw mustBe('name', 'a text', name);
    const window = `${period}s` as const;
    this.inner = rateLimit({ name, limit, window, key, mode, algorithm: fixedWindow });
    this.name = this.inner.name;
    this.mode = this.inner.mode;
    this.rule = this.inner.rule;
    this.notices = this.inner.notices;
    this.binding = binding;
    this.periodMs = period * 1_000;
  }

  async step(
    request: LimitRequest<Raw>,
    binding: boolean,
    context: StepContext,
  ): Promise<Decision> {
    const question = await this.inner.step(request, binding, context);
    const key = 'key' in question ? question.key : '';
    if (key === UNKNOWN_ADDRESS) request.missesAddress?.(binding);
    if (this.rests()) return this.passed('error');
    const asked = await within(DEADLINE_MS, this.askBinding(key));
    if ('value' in asked) {
      this.failures = 0;
      return asked.value ? this.passed('allowed') : this.refused(binding);
    }
    this.failures += 1;
    this.restsUntilUs = systemClock.nowUs() + REST_US;
    context.fault({ limiter: this.name, source: 'step', error: asked.error });
    return this.passed('error');
  }

  private async askBinding(key: string): Promise<boolean> {
    const answer = await this.binding.limit({ key: `${this.name}:${this.digestOf(key)}` });
    const success: unknown = answer?.success;
    if (typeof success !== 'boolean') throw mustBe('success of the binding', 'a boolean', success);
    return success;
  }

  /** Whether the binding is not asked now. The request for which this is false again is the only one of its second. */
  private rests(): boolean {
    if (this.failures < MOST_FAILURES) return false;
    const nowUs = systemClock.nowUs();
    if (nowUs < this.restsUntilUs) return true;
    this.restsUntilUs = nowUs + REST_US;
    return false;
  }

  /** Never called: {@link step} decides. */
  decide(): Decision {
    return this.passed('allowed');
  }

  private passed(outcome: 'allowed' | 'error'): Decision {
    const { name } = this;
    return { ...UNKNOWN, limiter: name, allowed: true, outcome, reason: null, retryAfterMs: 0 };
  }

  private refused(enforced: boolean): Decision {
    const outcome = enforced ? 'denied' : 'would-deny';
    const decided = { limiter: this.name, allowed: !enforced, outcome, reason: 'rate' } as const;
    return { ...UNKNOWN, ...decided, retryAfterMs: this.periodMs };
  }
}

/** What the binding does not tell. */
const UNKNOWN = { cost: 1, used: Number.NaN, remaining: Number.NaN, resetMs: Number.NaN } as const;
