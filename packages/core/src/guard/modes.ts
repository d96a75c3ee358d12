/** How far each limiter of a guard goes for a request: what was declared, what is set live, and for whom. */

import { Junk } from '../base/junk.js';
import type { Control, KeyRuling } from '../contract/control.js';
import type { Decision } from '../contract/decision.js';
import type { Limiter, StepContext, StoredLimiter } from '../contract/limiter.js';
import type { Mode } from '../contract/mode.js';
import type { LimitRequest, Per } from '../contract/request.js';
import { skippedDecision } from '../contract/skipped.js';
import { isInShare } from './share.js';

/** From the weakest on. */
const ORDER: readonly Mode[] = ['off', 'shadow', 'enforce'];

export class Modes<Raw> {
  private readonly guardMode: Per<Raw, Mode> | undefined;
  private readonly control: Control | undefined;
  private readonly context: StepContext;

  constructor(
    guardMode: Per<Raw, Mode> | undefined,
    control: Control | undefined,
    context: StepContext,
  ) {
    this.guardMode = guardMode;
    this.control = control;
    this.context = context;
  }

  /** None of a guard's limiters is stricter than this. */
  ofGuard(request: LimitRequest<Raw>): Mode {
    return this.guardMode === undefined ? 'enforce' : this.read('', this.guardMode, request);
  }

  of(limiter: Limiter<Raw>, request: LimitRequest<Raw>, ceiling: Mode): Mode {
    if (ceiling === 'off') return 'off';
    const live = this.control?.settingsOf(limiter.name)?.mode;
    const own = this.read(limiter.name, live ?? limiter.mode, request);
    return ORDER.indexOf(own) <= ORDER.indexOf(ceiling) ? own : ceiling;
  }

  /** Whether a limiter that is enforced is so for `key`, or in shadow because it is being rolled out. */
  enforces(limiter: StoredLimiter<Raw>, key: string): boolean {
    const share = this.control?.settingsOf(limiter.name)?.share ?? limiter.share ?? 1;
    return isInShare(limiter.name, key, share);
  }

  /** The decision on a key that was allowed or blocked live. */
  ruled({ name }: Limiter<Raw>, mode: Mode, { verdict, endsInMs }: KeyRuling): Decision {
    return verdict === 'allow'
      ? skippedDecision(name)
      : this.refused(name, mode, 'blocked', endsInMs);
  }

  /** The decision on what is refused without asking the store. */
  refused(
    limiter: string,
    mode: Mode,
    reason: 'blocked' | 'never',
    retryAfterMs: number,
  ): Decision {
    const enforced = mode === 'enforce';
    const outcome = enforced ? 'denied' : 'would-deny';
    const nothing = skippedDecision(limiter);
    return { ...nothing, allowed: !enforced, outcome, reason, remaining: 0, retryAfterMs };
  }

  private read(limiter: string, mode: Per<Raw, Mode>, request: LimitRequest<Raw>): Mode {
    let error: unknown;
    try {
      const own = typeof mode === 'function' ? mode(request) : mode;
      if (ORDER.includes(own)) return own;
      error = new Junk(limiter === '' ? 'mode of the guard' : `mode of limiter "${limiter}"`, own);
    } catch (thrown) {
      error = thrown;
    }
    this.context.fault({ limiter, source: 'mode', error });
    return 'enforce'; // no accident switches a limit off
  }
}
