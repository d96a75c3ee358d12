/** Wraps a user's control for the guard, so that a mistake in it neither fails nor frees a request. */

import { mustBe, SpillwayError, show } from '../base/errors.js';
import type { Control, KeyRuling, LimiterSettings, LiveLimits } from '../contract/control.js';
import type { StepContext } from '../contract/limiter.js';
import { checkSetting } from './check.js';
import type { Setting } from './override.js';

/**
 * Reads from `control`. If it throws, or returns settings that are not valid, that is a fault, and the setting counts
 * as not set. Calls `onChange` when the settings of a limiter have changed since the last call, or keys of it were
 * reset.
 */
export function checkedControl(
  control: Control,
  context: Pick<StepContext, 'fault'>,
  onChange: (limiter: string) => void,
): Control {
  return new CheckedControl(control, context, onChange);
}

class CheckedControl implements Control {
  /** By limiter: what the control returned last, and the valid part of it. */
  private readonly last = new Map<
    string,
    { readonly said: unknown; readonly obeyed: LimiterSettings | undefined }
  >();
  private readonly control: Control;
  private readonly context: Pick<StepContext, 'fault'>;
  private readonly onChange: (limiter: string) => void;

  constructor(
    control: Control,
    context: Pick<StepContext, 'fault'>,
    onChange: (limiter: string) => void,
  ) {
    this.control = control;
    this.context = context;
    this.onChange = onChange;
  }

  settingsOf(limiter: string): LimiterSettings | undefined {
    let said: unknown;
    try {
      said = this.control.settingsOf(limiter);
    } catch (error) {
      this.tell(limiter, error);
      return undefined;
    }
    const last = this.last.get(limiter);
    if (last ? last.said === said : said === undefined) return last?.obeyed;
    const obeyed = this.checked(limiter, said);
    this.last.set(limiter, { said, obeyed });
    this.onChange(limiter);
    return obeyed;
  }

  rulingOn(limiter: string, key: string): KeyRuling | undefined {
    try {
      const ruling: KeyRuling | undefined = this.control.rulingOn(limiter, key);
      if (ruling === undefined || ruling === null) return undefined;
      const { verdict, endsInMs } = ruling;
      if ((verdict === 'allow' || verdict === 'block') && endsInMs > 0) return ruling;
      throw new SpillwayError(
        'SPW_OPTION_INVALID',
        `a ruling must be allow or block for a time, got ${show(verdict)} for ${show(endsInMs)} ms`,
      );
    } catch (error) {
      this.tell(limiter, error);
      return undefined;
    }
  }

  /** Not checked here: whoever makes a rule of the numbers does so, once for each object. */
  limitsOf(limiter: string, key: string): LiveLimits | undefined {
    try {
      return this.control.limitsOf?.(limiter, key) ?? undefined;
    } catch (error) {
      this.tell(limiter, error);
      return undefined;
    }
  }

  /** The valid part of the settings that the control returned. */
  private checked(limiter: string, said: unknown): LimiterSettings | undefined {
    if (said === undefined || said === null) return undefined;
    if (typeof said !== 'object') {
      this.tell(limiter, mustBe('settings', 'an object', said));
      return undefined;
    }
    const obeyed: Record<string, unknown> = {};
    for (const what of ['mode', 'share', 'limits'] as const) {
      try {
        const value = (said as LimiterSettings)[what];
        if (value === undefined) continue;
        checkSetting({ what, value } as Setting);
        obeyed[what] = value;
      } catch (error) {
        this.tell(limiter, error);
      }
    }
    return obeyed;
  }

  private tell(limiter: string, error: unknown): void {
    this.context.fault({ limiter, source: 'control', error });
  }
}
