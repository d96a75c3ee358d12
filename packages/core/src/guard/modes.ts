/** The mode of each limiter for a request, from the declared options and live settings. */

import { Junk } from '../base/junk.js';
import type { LimiterSettings } from '../contract/control.js';
import type { Mode } from '../contract/decision.js';
import type { Limiter } from '../contract/limiter.js';
import type { StepContext } from '../contract/limiter-turn.js';
import type { LimitRequest, Per } from '../contract/request.js';

export class Modes<Raw> {
  private readonly guardMode: Per<Raw, Mode>;
  private readonly context: StepContext;

  constructor(guardMode: Per<Raw, Mode> = 'enforce', context: StepContext) {
    this.guardMode = guardMode;
    this.context = context;
  }

  /** The guard's mode: the upper bound for all its limiters. */
  ofGuard(request: LimitRequest<Raw>): Mode {
    return this.resolveMode('', this.guardMode, request);
  }

  /** The weaker of the guard's mode and the limiter's. */
  modeFor(
    limiter: Limiter<Raw>,
    settings: LimiterSettings | undefined,
    request: LimitRequest<Raw>,
    ofGuard: Mode,
  ): Mode {
    const own = this.resolveMode(limiter.name, settings?.mode ?? limiter.mode, request);
    return own === 'off' || ofGuard === 'enforce' ? own : ofGuard;
  }

  private resolveMode(limiter: string, mode: Per<Raw, Mode>, request: LimitRequest<Raw>): Mode {
    let error: unknown;
    try {
      const own = typeof mode === 'function' ? mode(request) : mode;
      if (own === 'enforce' || own === 'shadow' || own === 'off') return own;
      error = new Junk(limiter === '' ? 'mode of the guard' : `mode of limiter "${limiter}"`, own);
    } catch (thrown) {
      error = thrown;
    }
    this.context.fault({ limiter, source: 'mode', error });
    return 'enforce'; // a mistake must not switch a limit off
  }
}
