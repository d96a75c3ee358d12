/** Hands a fault to `onFault`, or logs it. Neither can make another fault. */

import type { Logger } from '../base/host.js';
import { consoleLogger, disregard } from '../base/host.js';
import type { Fault } from '../contract/fault.js';
import { voiceOf } from './voice.js';

/**
 * Calls `onFault`, which may throw; without one, logs a line, at most one a minute for each limiter and source. Default
 * logger: the console.
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
    // Where `onFault` itself fails there is nobody else to call.
  }
}
