/** What a worker shedder can be told, with its defaults. */

import type { Clock } from '../base/clock.js';
import { SpillwayError, show } from '../base/errors.js';
import type { HintOptions } from '../base/hint.js';
import type { Mode } from '../contract/mode.js';
import type { Per } from '../contract/request.js';
import type { Priority } from './priority.js';
import type { Signal } from './signal.js';

/** A signal that brings along the one for the brake, as `eventLoopSignal()` of `@spillway/core/node` does. */
export interface LoopSignal extends Signal {
  /** The event loop's wait: 1 is at the mark. */
  readonly wait?: Signal | undefined;
}

export interface WorkerShedderOptions<Raw = unknown> extends HintOptions {
  /** Identifies the shedder in problem bodies and metrics: 1 to 64 printable ASCII characters. */
  readonly name: string;
  /** The ladder's signal, and in its `wait` the brake's: `eventLoopSignal()` has both. */
  readonly signal?: LoopSignal | undefined;
  /** The slow loop: with a signal of its own, or false for none. Default: on, with `signal`. */
  readonly ladder?: { readonly signal: Signal } | false | undefined;
  /** The fast loop: with a signal of its own, or false for none. Default: on, with `signal.wait`. */
  readonly brake?: { readonly signal: Signal } | false | undefined;
  /** Classes, from critical to the one shed first. Default: by method, into `critical`, `post`, `get` and `test`. */
  readonly priority?: Priority<Raw> | undefined;
  /** Whether critical requests are shed too, as the last stage. Default false. */
  readonly shedCritical?: boolean | undefined;
  /** `enforce` (default), `shadow` (dark launch) or `off` (kill switch). */
  readonly mode?: Per<Raw, Mode> | undefined;
  /** Default: the process's monotonic clock. */
  readonly clock?: Clock | undefined;
}

/** The signals of the two loops, undefined where one is off. */
interface Signals {
  readonly ladder: Signal | undefined;
  readonly brake: Signal | undefined;
}

/** @throws SpillwayError `SPW_OPTION_INVALID` */
export function signalsOf<Raw>(options: WorkerShedderOptions<Raw>): Signals {
  const { signal, ladder, brake } = options;
  const signals = {
    ladder: chosen('ladder', ladder, signal, 'signal: eventLoopSignal()'),
    brake: chosen('brake', brake, signal?.wait, 'brake: { signal: eventLoopWaitSignal() }'),
  };
  if (!signals.ladder && !signals.brake) {
    throw invalid('ladder and brake must not both be false: such a shedder sheds nothing');
  }
  return signals;
}

function chosen(
  option: string,
  own: { readonly signal: Signal } | false | undefined,
  shared: Signal | undefined,
  example: string,
): Signal | undefined {
  if (own === false) return undefined;
  const signal = own === undefined ? shared : own?.signal;
  if (signal === undefined || signal === null) {
    throw invalid(`${option} needs a signal, as in ${example}, or must be false`);
  }
  if (typeof signal.read !== 'function' || typeof signal.name !== 'string') {
    throw invalid(`${option} needs a signal with a name and read(), got ${show(signal)}`);
  }
  return signal;
}

/** @throws SpillwayError `SPW_OPTION_INVALID` */
export function checkRest<Raw>(options: WorkerShedderOptions<Raw>): void {
  const { shedCritical, clock } = options;
  if (shedCritical !== undefined && typeof shedCritical !== 'boolean') {
    throw invalid(`shedCritical must be true or false, got ${show(shedCritical)}`);
  }
  if (clock !== undefined && typeof clock?.nowUs !== 'function') {
    throw invalid(`clock must have nowUs(), got ${show(clock)}`);
  }
}

function invalid(message: string): SpillwayError {
  return new SpillwayError('SPW_OPTION_INVALID', message);
}
