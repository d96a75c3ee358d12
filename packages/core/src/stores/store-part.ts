/** One part of a store, such as a node of a cluster: how its calls end, and whether it is asked. */

import type { BreakerEvent } from '../contract/observer.js';
import { Health } from './health.js';
import type { Probe } from './probe.js';

export class StorePart {
  /** In logs and events; `''` for a store that has no parts. */
  readonly name: string;
  readonly health: Health = new Health();
  /** Calls in a row that have failed. */
  failures: number = 0;
  /** When a call last failed, was slow, or was not made because the part is down. */
  badUs: number = -Infinity;
  /** Calls that began before this moment say nothing about the part now. */
  closedUs: number = -Infinity;
  /** Why it is not asked, or was not asked when it last failed. */
  reason: BreakerEvent['reason'] = 'failures';
  /** How long its probes had to be answered well before it was asked again; 0: one answer was enough. */
  healthyUs: number = 0;
  /** There is one while the part is not asked. */
  probe: Probe | undefined;
  private openedUs = 0;

  constructor(name: string) {
    this.name = name;
  }

  open(probe: Probe, reason: BreakerEvent['reason'], nowUs: number): void {
    this.probe = probe;
    this.reason = reason;
    this.openedUs = nowUs;
    this.badUs = nowUs;
    this.failures = 0;
    this.health.clear(reason === 'slow');
  }

  /** Returns how long it was open, in milliseconds. */
  close(nowUs: number): number {
    this.probe?.end();
    this.probe = undefined;
    this.closedUs = nowUs;
    this.badUs = nowUs;
    this.failures = 0;
    return (nowUs - this.openedUs) / 1000;
  }
}
