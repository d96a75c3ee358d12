/** What a control has set live for a limit without HTTP. */

import type { Control } from '../contract/control.js';
import type { Decision, Policy } from '../contract/decision.js';
import type { Mode } from '../contract/mode.js';
import type { Rule } from '../contract/rule.js';
import { skippedDecision } from '../contract/skipped.js';
import type { StepContext } from '../contract/turn.js';
import { isInShare, ruledDecision } from '../control/ruled-decision.js';
import { liveNumbers } from '../limits/live-numbers.js';
import { type RuleOptions, ruleFrom } from '../limits/rule-options.js';
import { type RuleVariant, RuleVariants } from '../limits/rule-variants.js';

export class LiveLimit {
  private readonly name: string;
  private readonly limit: number;
  private readonly control: Control;
  private readonly variants: RuleVariants;
  private readonly context: Pick<StepContext, 'fault'>;

  /** @param localShare this process's share of the limit when the store does not answer */
  constructor(
    name: string,
    declared: RuleOptions,
    control: Control,
    localShare: number,
    context: Pick<StepContext, 'fault'>,
  ) {
    this.name = name;
    this.limit = declared.limit;
    this.control = control;
    this.context = context;
    this.variants = new RuleVariants(name, localShare, (limit, live) =>
      ruleFrom(liveNumbers({ ...declared, limit }, live)),
    );
  }

  /** The decision on a key of which the store need not be asked. */
  ruled(key: string): Decision | undefined {
    const mode = this.mode();
    if (mode === 'off') return skippedDecision(this.name);
    const ruling = this.control.rulingOn(this.name, key);
    return ruling && ruledDecision(this.name, mode, ruling);
  }

  /** Whether the limit refuses the key: false in shadow. */
  binds(key: string): boolean {
    const share = this.control.settingsOf(this.name)?.share ?? 1;
    return this.mode() === 'enforce' && isInShare(this.name, key, share);
  }

  /** The numbers for the key, if they are not the declared ones. */
  numbersFor(key: string): RuleVariant | undefined {
    const settings = this.control.settingsOf(this.name);
    const limits = this.control.limitsOf?.(this.name, key) ?? settings?.limits;
    return limits && this.variants.live(this.limit, limits, this.context);
  }

  policyOf(rule: Rule): Policy {
    return this.variants.policyOf(rule);
  }

  private mode(): Mode {
    return this.control.settingsOf(this.name)?.mode ?? 'enforce';
  }
}
