/** The pace of a shaper: as declared, or as a control has set it live. */

import type { KeyRuling, LiveLimits } from '@spillway/core';
import { mustBe } from '@spillway/core/adapter';
import { liveNumbers } from '@spillway/core/control';
import {
  checkLimit,
  type DirectClient,
  type LiveNumbers,
  windowToMicroseconds,
} from '@spillway/core/direct';
import { makeShaperRule, type QueueRule, type StoreErrorPolicy } from '@spillway/core/store';

interface Pace {
  readonly rule: QueueRule;
  readonly onStoreError: StoreErrorPolicy;
}

export class LivePace {
  private readonly name: string;
  private readonly declared: Pace;
  private readonly client: DirectClient;
  /** What was made of limits that were set, for all keys or for one. */
  private readonly paces = new WeakMap<LiveLimits, Pace>();

  constructor(name: string, rule: QueueRule, client: DirectClient) {
    this.name = name;
    this.client = client;
    this.declared = this.paceOf(rule);
  }

  /** What counts for slots that are taken now, by a key without a pace of its own. */
  get now(): Pace {
    return this.paceWith(this.client.control?.settingsOf(this.name)?.limits);
  }

  /** What counts for slots of a key that are taken now. */
  of(key: string): Pace {
    const { now } = this;
    const own = this.client.control?.limitsOf?.(this.name, key);
    return own ? this.paceWith(own) : now;
  }

  /** How much longer an operator blocks the key, in milliseconds; 0 if nobody does. */
  blockedMs(key: string): number {
    const ruling: KeyRuling | undefined = this.client.control?.rulingOn(this.name, key);
    return ruling?.verdict === 'block' ? ruling.endsInMs : 0;
  }

  private paceWith(limits: LiveLimits | undefined): Pace {
    if (limits === undefined) return this.declared;
    let pace = this.paces.get(limits);
    if (!pace) {
      pace = this.newPace(limits);
      this.paces.set(limits, pace);
    }
    return pace;
  }

  /** As declared, and a fault, where the limits make no pace. */
  private newPace(limits: LiveLimits): Pace {
    const { rule } = this.declared;
    try {
      const { limit, window, burst } = liveNumbers<LiveNumbers>({ limit: rule.limit }, limits);
      if (burst !== undefined) this.fault(burstStays(burst));
      const windowUs = window === undefined ? rule.windowUs : windowToMicroseconds(window);
      checkLimit('limit', limit);
      return this.paceOf(makeShaperRule(limit, windowUs, rule.burst, rule.waitUs));
    } catch (error) {
      this.fault(error);
      return this.declared;
    }
  }

  private paceOf(rule: QueueRule): Pace {
    return { rule, onStoreError: this.client.policyFor(rule) };
  }

  private fault(error: unknown): void {
    this.client.fault({ limiter: this.name, source: 'control', error });
  }
}

function burstStays(burst: number): Error {
  const what = 'left out for a shaper, because jobs that wait may cost as much as the declared one';
  return mustBe('burst', what, burst, 'SPW_BURST_INVALID');
}
