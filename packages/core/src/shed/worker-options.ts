import { checkClock } from '../base/checks.js';
import type { Clock } from '../base/clock.js';
import { mustBe, SpillwayError } from '../base/errors.js';
import type { HintOptions } from '../base/hint.js';
import { checkNames, type NamesOf } from '../base/option-names.js';
import type { Mode } from '../contract/decision.js';
import type { Per } from '../contract/request.js';
import type { Signal } from './load-signal.js';
import type { Priority } from './priority.js';

/**
 * The load signals of an event loop, such as `eventLoopSignal()` of `@spillway/core/node`: the utilization for the
 * ladder and, in `wait`, the signal for the brake.
 */
export interface LoopSignal extends Signal {
  /** The event loop delay; value 1 is the target. */
  readonly wait?: Signal | undefined;
}

/** Options of {@link workerShedder}. */
export interface WorkerShedderOptions<Raw = unknown> extends HintOptions {
  /** Name in problem bodies and metrics: 1 to 64 printable ASCII characters. */
  readonly name: string;
  /** The ladder's signal; its `wait` is the brake's signal. `eventLoopSignal()` has both. */
  readonly signal?: LoopSignal | undefined;
  /** A separate signal for the ladder, or false for no ladder. Default: `signal`. */
  readonly ladder?: { readonly signal: Signal } | false | undefined;
  /** A separate signal for the brake, or false for no brake. Default: `signal.wait`. */
  readonly brake?: { readonly signal: Signal } | false | undefined;
  /**
   * The classes of requests and how to assign them. Default: GET, HEAD and OPTIONS are `get`, all other methods are
   * `post`.
   */
  readonly priority?: Priority<Raw> | undefined;
  /** Whether critical requests are shed too, after all others. Default false. */
  readonly shedCritical?: boolean | undefined;
  /** `enforce` (default), `shadow` (counts, rejects nobody) or `off` (kill switch). */
  readonly mode?: Per<Raw, Mode> | undefined;
  /** Source of time, for tests. Default: the process's monotonic clock. */
  readonly clock?: Clock | undefined;
}

export const WORKER_OPTIONS: NamesOf<WorkerShedderOptions> = {
  name: 1,
  signal: 1,
  ladder: 1,
  brake: 1,
  priority: 1,
  shedCritical: 1,
  mode: 1,
  clock: 1,
  retryAfter: 1,
  random: 1,
};

interface Signals {
  readonly ladder: Signal | undefined;
  readonly brake: Signal | undefined;
  /** Whether the brake reads the `wait` of the ladder's signal. */
  readonly areOne: boolean;
}

export function signalsOf<Raw>(options: WorkerShedderOptions<Raw>): Signals {
  const { signal, ladder, brake } = options;
  if (signal === undefined && ladder === undefined && brake === undefined) {
    throw mustBe('signal', 'given, as in signal: eventLoopSignal()', signal);
  }
  const signals = {
    ladder: chosen('ladder', ladder, signal, 'signal: eventLoopSignal()'),
    brake: chosen('brake', brake, signal?.wait, 'brake: { signal: eventLoopWaitSignal() }'),
  };
  if (!signals.ladder && !signals.brake) {
    throw new SpillwayError(
      'SPW_OPTION_INVALID',
      'ladder and brake must not both be false: such a shedder sheds nothing',
    );
  }
  const waitOfLadder = (signals.ladder as LoopSignal | undefined)?.wait;
  return { ...signals, areOne: !!signals.brake && signals.brake === waitOfLadder };
}

function chosen(
  option: string,
  own: { readonly signal: Signal } | false | undefined,
  shared: Signal | undefined,
  example: string,
): Signal | undefined {
  if (own === false) return undefined;
  if (own) checkNames(option, own, { signal: 1 });
  const signal = own === undefined ? shared : own?.signal;
  if (signal === undefined || signal === null) {
    throw mustBe(option, `false, or have a signal as in ${example}`, signal);
  }
  if (typeof signal.read !== 'function' || typeof signal.name !== 'string') {
    throw mustBe(`signal of the ${option}`, 'an object with a name and read()', signal);
  }
  return signal;
}

export function checkRest<Raw>(options: WorkerShedderOptions<Raw>): void {
  const { shedCritical, clock } = options;
  if (shedCritical !== undefined && typeof shedCritical !== 'boolean') {
    throw mustBe('shedCritical', 'true or false', shedCritical);
  }
  checkClock(clock);
}
