import { wallClockMs } from '../base/clock.js';
import { mustBe } from '../base/errors.js';
import { getOrMake } from '../base/get-or-make.js';
import { bindingOf, type Decision, type Policy, statusOf } from '../contract/decision.js';
import type { OwnProblem } from '../contract/keeping.js';
import type { LimiterTurn } from '../contract/limiter-turn.js';
import type { Header } from '../contract/request.js';
import {
  fields06,
  legacyFields,
  limitItem,
  policyItem,
  policyItem06,
  retryAfterSeconds,
  stringItem,
} from './fields.js';
import { PROBLEM_TYPE, problemBody, problemHead } from './problem.js';

/**
 * `draft-11` sends `RateLimit` and `RateLimit-Policy`. `draft-6` sends `RateLimit-Limit`, `RateLimit-Remaining`,
 * `RateLimit-Reset` in seconds from now, and an older form of `RateLimit-Policy`; it can't be combined with `draft-11`.
 * `legacy` sends `X-RateLimit-*`. With several limits, `legacy` and `draft-6` (except its `RateLimit-Policy`) describe
 * the limit that rejects. If none rejects, they describe the one with the least remaining. They don't show concurrency
 * limits.
 */
export type HeaderStyle = 'draft-11' | 'draft-6' | 'legacy';

const STYLES: readonly HeaderStyle[] = ['draft-11', 'draft-6', 'legacy'];

export const STYLE_NAMES = "'draft-11' or 'draft-6', and 'legacy'";

interface PolicyTexts {
  /** The beginning of the policy's `RateLimit` item. */
  readonly limit: string;
  /** The policy's name in JSON. */
  readonly json: string;
  /** The policy's `RateLimit-Policy` item. */
  readonly item: string;
  /** The beginning of the body of a `rate` rejection; undefined until first used. */
  quota: string | undefined;
}

/** A decision and its mode. Decisions in shadow mode are not shown in headers. */
export type Decided = Pick<LimiterTurn, 'mode' | 'decision'>;

export class ResponseWriter {
  // Weak, because limits that depend on the request create policies that are used once.
  private readonly texts = new WeakMap<Policy, PolicyTexts>();
  // Most guards report the same policy every time. The map lookup would take a tenth of the time of an admission.
  private lastPolicy: Policy | undefined;
  private lastTexts: PolicyTexts | undefined;
  private readonly standard: boolean;
  private readonly draft06: boolean;
  private readonly blockedStatus: 403 | 429;
  private readonly legacy: boolean;

  constructor(styles: readonly HeaderStyle[] = ['draft-11'], blockedStatus: 403 | 429 = 403) {
    this.blockedStatus = blockedStatus;
    for (const style of styles) {
      if (!STYLES.includes(style)) throw mustBe('headers', `a list of ${STYLE_NAMES}`, style);
    }
    if (blockedStatus !== 403 && blockedStatus !== 429) {
      throw mustBe('blockedStatus', '403 or 429', blockedStatus);
    }
    this.standard = styles.includes('draft-11');
    this.draft06 = styles.includes('draft-6');
    if (this.standard && this.draft06) {
      throw mustBe('headers', "a list with one of 'draft-11' and 'draft-6', not both", styles);
    }
    this.legacy = styles.includes('legacy');
  }

  nowMs(): number {
    return this.legacy ? wallClockMs() : 0;
  }

  statusOf(binding: Decision): number {
    return binding.reason === 'blocked' ? this.blockedStatus : statusOf(binding);
  }

  /** @param binding the rejection that determines the response; undefined if the request is admitted */
  fields(
    turns: readonly Decided[],
    binding: Decision | undefined,
    nowMs: number,
  ): readonly Header[] {
    const fields = this.limitFields(turns, binding, nowMs);
    if (!binding) return fields;
    // Each call creates these pairs. Shared pairs would have to be frozen, and reading frozen pairs makes a decision a
    // fifth slower in V8.
    fields.push(['Cache-Control', 'no-store'], ['Content-Type', PROBLEM_TYPE]);
    return fields;
  }

  /** Like {@link fields}, but without the `Cache-Control` and `Content-Type` of a rejection. */
  limitFields(turns: readonly Decided[], binding: Decision | undefined, nowMs: number): Header[] {
    const fields = this.limits(turns, nowMs);
    // A request that can never pass gets no `Retry-After`.
    if (binding && binding.retryAfterMs !== Infinity) {
      fields.push(['Retry-After', String(retryAfterSeconds(binding.retryAfterMs || 0))]);
    }
    return fields;
  }

  body<Raw>(turns: readonly LimiterTurn<Raw>[], binding: Decision, own?: OwnProblem): string {
    let violated = '';
    for (let i = 0; i < turns.length; i += 1) {
      const { decision } = turns[i] as LimiterTurn<Raw>;
      if (!decision.allowed && decision.outcome !== 'replayed')
        violated += (violated && ',') + this.jsonNameOf(decision);
    }
    return problemBody(this.headOf(binding, own), binding, violated, own);
  }

  private headOf(binding: Decision, own: OwnProblem | undefined): string {
    const { limiter, reason, policy } = binding;
    if (reason === 'rate' && policy?.name === limiter) {
      const texts = this.textsOf(policy);
      texts.quota ??= problemHead(binding, texts.json);
      return texts.quota;
    }
    return problemHead(binding, this.jsonNameOf(binding), this.statusOf(binding), own);
  }

  private limits(turns: readonly Decided[], nowMs: number): Header[] {
    let policies = '';
    let limits = '';
    let tightest: Decision | undefined;
    for (let i = 0; i < turns.length; i += 1) {
      const { mode, decision } = turns[i] as Decided;
      // Limits in shadow mode are not shown. Without an answer from the store there are no numbers.
      if (mode !== 'enforce' || !decision.policy || Number.isNaN(decision.remaining)) continue;
      if (this.standard) {
        const texts = this.textsOf(decision.policy);
        policies = policies ? `${policies}, ${texts.item}` : texts.item;
        limits = (limits && `${limits}, `) + limitItem(texts.limit, decision);
      }
      if (!(this.legacy || this.draft06) || decision.policy.unit !== 'requests') continue;
      tightest = tightest ? bindingOf([tightest, decision]) : decision;
      if (this.draft06) policies = (policies && `${policies}, `) + policyItem06(decision.policy);
    }
    const fields: Header[] = limits
      ? [
          ['RateLimit-Policy', policies],
          ['RateLimit', limits],
        ]
      : [];
    if (tightest && this.draft06) fields.push(...fields06(tightest, policies));
    if (tightest && this.legacy) fields.push(...legacyFields(tightest, nowMs));
    return fields;
  }

  private jsonNameOf({ limiter, policy }: Decision): string {
    return policy?.name === limiter ? this.textsOf(policy).json : JSON.stringify(limiter);
  }

  private textsOf(policy: Policy): PolicyTexts {
    if (policy === this.lastPolicy) return this.lastTexts as PolicyTexts;
    this.lastPolicy = policy;
    this.lastTexts = getOrMake(this.texts, policy, () => {
      const limit = `${stringItem(policy.name)};r=`;
      const json = JSON.stringify(policy.name);
      return { json, limit, item: policyItem(policy), quota: undefined };
    });
    return this.lastTexts;
  }
}
