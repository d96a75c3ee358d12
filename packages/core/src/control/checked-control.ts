/** A control of anybody's, as the guard asks it: no mistake in it fails a request or frees one. */

import { SpillwayError, show } from '../base/errors.js';
import type { Control, KeyRuling, LimiterSettings } from '../contract/control.js';
import type { StepContext } from '../contract/limiter.js';
import { checkSetting } from './check.js';
import type { Setting } from './override.js';

/**
 * `control`, but what it throws, or says that cannot be obeyed, is a fault and counts as not set. `onChange` is called
 * when a limiter's settings are others than when they were last asked for, or keys of it were reset.
 */
export function checkedControl(
  control: Control,
  context: Pick<StepContext, 'fault'>,
  onChange: (limiter: string) => void,
): Control {
  return new SteadyControl(control, context, onChange);
}

class SteadyControl implements Control {
  /** By limiter, what was said last, and what of it is obeyed. */
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
      throw invalid(`a ruling is ${show(verdict)} for ${show(endsInMs)} ms`);
    } catch (error) {
      this.tell(limiter, error);
      return undefined;
    }
  }

  /** What of some settings can be obeyed. */
  private checked(limiter: string, said: unknown): LimiterSettings | undefined {
    if (said === undefined || said === null) return undefined;
    if (typeof said !== 'object') {
      this.tell(limiter, invalid(`settings are ${show(said)}`));
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

function invalid(message: string): SpillwayError {
  return new SpillwayError('SPW_OPTION_INVALID', message);
}
