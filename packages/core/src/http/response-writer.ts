/** From decisions to status, fields and body. */

import { wallClockMs } from '../base/clock.js';
import { mustBe } from '../base/errors.js';
import { bindingOf } from '../contract/binding.js';
import type { Decision, Policy } from '../contract/decision.js';
import type { Field } from '../contract/field.js';
import { statusOf } from '../contract/status.js';
import { legacyFields, limitItem, policyItem, retryAfterSeconds } from './fields.js';
import { PROBLEM_TYPE, problemBody } from './problem.js';
import { stringItem } from './structured.js';

/** `draft-11`: `RateLimit` and `RateLimit-Policy`. `legacy`: `X-RateLimit-*`. */
export type HeaderStyle = 'draft-11' | 'legacy';

interface Presented {
  readonly status: number;
  readonly fields: readonly Field[];
  readonly body: string;
}

/** What a policy is called in fields, and its `RateLimit-Policy` item. */
interface PolicyTexts {
  readonly name: string;
  readonly item: string;
}

export class ResponseWriter {
  // A policy's texts are made once; a weak map, so that limits that were asked for once do not stay.
  private readonly texts = new WeakMap<Policy, PolicyTexts>();
  private readonly standard: boolean;
  private readonly blockedStatus: 403 | 429;
  private readonly legacy: boolean;

  /** @throws SpillwayError `SPW_OPTION_INVALID` */
  constructor(styles: readonly HeaderStyle[], blockedStatus: 403 | 429) {
    this.blockedStatus = blockedStatus;
    for (const style of styles) {
      if (style !== 'draft-11' && style !== 'legacy') {
        throw mustBe('headers', "a list of 'draft-11' and 'legacy'", style);
      }
    }
    if (blockedStatus !== 403 && blockedStatus !== 429) {
      throw mustBe('blockedStatus', '403 or 429', blockedStatus);
    }
    this.standard = styles.includes('draft-11');
    this.legacy = styles.includes('legacy');
  }

  present(
    shown: readonly Decision[],
    refusals: readonly Decision[],
    binding: Decision | undefined,
  ): Presented {
    const fields: Field[] = [];
    this.addLimits(fields, shown);
    if (!binding) return { status: 200, fields, body: '' };
    // Whoever waits this long is admitted by every limiter; who can never be is not told to wait.
    if (binding.retryAfterMs !== Infinity) {
      fields.push(['Retry-After', String(retryAfterSeconds(binding.retryAfterMs || 0))]);
    }
    fields.push(['Cache-Control', 'no-store'], ['Content-Type', PROBLEM_TYPE]);
    const violated = refusals.map((decision) => decision.limiter);
    const status = binding.reason === 'blocked' ? this.blockedStatus : statusOf(binding);
    return { status, fields, body: problemBody(binding, violated, status) };
  }

  private addLimits(fields: Field[], shown: readonly Decision[]): void {
    let policies = '';
    let limits = '';
    let tightest: Decision | undefined;
    for (const decision of shown) {
      // Where the store failed there are no numbers to tell.
      if (!decision.policy || Number.isNaN(decision.remaining)) continue;
      if (this.standard) {
        const { name, item } = this.textsOf(decision.policy);
        policies += (policies && ', ') + item;
        limits += (limits && ', ') + limitItem(name, decision);
      }
      if (this.legacy && decision.policy.unit === 'requests')
        tightest = tightest ? bindingOf([tightest, decision]) : decision;
    }
    if (limits) fields.push(['RateLimit-Policy', policies], ['RateLimit', limits]);
    if (tightest) fields.push(...legacyFields(tightest, wallClockMs()));
  }

  private textsOf(policy: Policy): PolicyTexts {
    let texts = this.texts.get(policy);
    if (texts === undefined) {
      texts = { name: stringItem(policy.name), item: policyItem(policy) };
      this.texts.set(policy, texts);
    }
    return texts;
  }
}
