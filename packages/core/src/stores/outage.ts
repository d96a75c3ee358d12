/** One part of a store that fails: counts up to the failures that make it an outage, and ends when the part is back. */

import { SpillwayError } from '../base/errors.js';
import type { Host, Probe } from './probe.js';

export class Outage {
  /** Calls in a row that have failed. */
  failures = 0;
  private probe: Probe | undefined;
  private openedUs = 0;

  /** Whether nobody asks this part, because it does not answer. */
  get isOpen(): boolean {
    return this.probe !== undefined;
  }

  open(probe: Probe, nowUs: number): void {
    this.probe = probe;
    this.openedUs = nowUs;
  }

  /** Returns how long it was open, in milliseconds. */
  end(nowUs: number): number {
    this.probe?.end();
    return (nowUs - this.openedUs) / 1000;
  }

  /** A request would have asked: the question to wait for before it is decided, if it is worth it. */
  knock(host: Host | undefined): Promise<void> | undefined {
    return this.probe?.knock(host);
  }
}

/** Why a step was not asked. */
export function unasked(): SpillwayError {
  return new SpillwayError('SPW_STORE_UNAVAILABLE', 'the store did not answer and is not asked');
}
