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
  /** Name in problem bodies and metrics: 1 to 64 printable ASCII characters. */
  readonly name: string;
  /** The binding, such as `env.FLOOD`. */
  readonly binding: RateLimitBinding;
  /** The limit in the binding's configuration. It is only shown, because the platform decides. */
  readonly limit: number;
  /** The period in the binding's configuration, in seconds. It is the `Retry-After` of rejections. */
  readonly period: 10 | 60;
  /**
   * The key by which requests are counted; may be async. Default: the client's address. The address is also used if the
   * key is missing, empty or too long, or the function fails.
   */
  readonly key?: PerLater<Raw, string | undefined> | undefined;
  /** `enforce` (default), `shadow` (counts, rejects nobody) or `off` (kill switch). */
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

/** How long a request waits for the binding, which normally answers in a few milliseconds. */
const DEADLINE_MS = 100;
/** After this many failures in a row, requests pass without calling the binding. */
const MOST_FAILURES = 5;
/** How often a request calls a failing binding as a probe. */
const PROBE_INTERVAL_US = 1_000_000;

/** The key that core uses for requests whose address is unknown. */
const UNKNOWN_ADDRESS = '@unknown';

/**
 * Limits requests by a rate limit binding of Workers, which counts separately in each of Cloudflare's locations and is
 * eventually consistent. Put it before exact limits, with a larger limit: requests that it rejects never call the
 * store. Its decisions have NaN as `remaining`, and it adds no `RateLimit` header to responses.
 * The binding also counts requests that an async `skip` exempts, because the guard asks both at once.
 *
 * If the binding fails or doesn't answer within 100 ms, the request passes, and `onFault` is called. After 5 failures
 * in a row, only one request per second calls the binding. Live settings of keys and of the limit have no effect.
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

/**
 * The method `step` returns a decision, not a step for the store, so the guard never calls the store for this limiter.
 */
class ApproximateLimiter<Raw> implements StoredLimiter<Raw> {
  readonly kind = 'stored';
  readonly named = true;
  readonly name: string;
  readonly mode: Per<Raw, Mode>;
  readonly rule: StoredLimiter['rule'];
  readonly notices: StoredLimiter['notices'];
  private readonly binding: RateLimitBinding;
  private readonly periodMs: number;
  private readonly inner: StoredLimiter<Raw>;
  private readonly digestOf: (key: string) => string = objectNamer();
  private failuresInARow = 0;
  private nextProbeUs = 0;

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
    if (this.isSuspended()) return this.passed('error');
    const asked = await within(DEADLINE_MS, this.askBinding(key));
    if ('value' in asked) {
      this.failuresInARow = 0;
      return asked.value ? this.passed('allowed') : this.rejected(binding);
    }
    this.failuresInARow += 1;
    this.nextProbeUs = systemClock.nowUs() + PROBE_INTERVAL_US;
    context.fault({ limiter: this.name, source: 'step', error: asked.error });
    return this.passed('error');
  }

  private async askBinding(key: string): Promise<boolean> {
    const answer = await this.binding.limit({ key: `${this.name}:${this.digestOf(key)}` });
    const success: unknown = answer?.success;
    if (typeof success !== 'boolean') throw mustBe('success of the binding', 'a boolean', success);
    return success;
  }

  private isSuspended(): boolean {
    if (this.failuresInARow < MOST_FAILURES) return false;
    const nowUs = systemClock.nowUs();
    if (nowUs < this.nextProbeUs) return true;
    this.nextProbeUs = nowUs + PROBE_INTERVAL_US;
    return false;
  }

  /** Never called, because {@link step} decides. */
  decide(): Decision {
    return this.passed('allowed');
  }

  private passed(outcome: 'allowed' | 'error'): Decision {
    const { name } = this;
    return { ...UNKNOWN, limiter: name, allowed: true, outcome, reason: null, retryAfterMs: 0 };
  }

  private rejected(enforced: boolean): Decision {
    const outcome = enforced ? 'denied' : 'would-deny';
    const decided = { limiter: this.name, allowed: !enforced, outcome, reason: 'rate' } as const;
    return { ...UNKNOWN, ...decided, retryAfterMs: this.periodMs };
  }
}

/** The numbers are NaN, because the binding doesn't report what is used or remains. */
const UNKNOWN = { cost: 1, used: Number.NaN, remaining: Number.NaN, resetMs: Number.NaN } as const;
