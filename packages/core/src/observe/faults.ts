/** Telling of faults, which must not make another. */

import type { Logger } from '../base/host.js';
import { consoleLogger, disregard } from '../base/host.js';
import type { Fault } from '../contract/fault.js';
import { voiceOf } from './voice.js';

/**
 * Tells `onFault`, and survives it; without one, `logger` in a line, once a minute for each limiter and source.
 * Default: the console.
 */
export function tellFault(
  onFault: ((fault: Fault) => void) | undefined,
  fault: Fault,
  logger: Logger | false = consoleLogger(),
): void {
  try {
    if (onFault) disregard(onFault(fault));
    else if (logger) voiceOf(logger).tell(fault);
  } catch {
    // An observer of faults that itself fails has nobody left to tell.
  }
}
