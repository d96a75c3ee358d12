/** The pace of a shaper: as declared, or as a control has set it live. */

import { makeShaperRule } from '../../algorithms/queue/rule.js';
import { windowToMicroseconds } from '../../base/duration.js';
import { SpillwayError } from '../../base/errors.js';
import type { Control, KeyRuling, LiveLimits } from '../../contract/control.js';
import type { Fault } from '../../contract/fault.js';
import type { QueueRule } from '../../contract/rule.js';
import type { StoreErrorPolicy } from '../../contract/store.js';
import { followed } from '../../stores/followed-control.js';
import type { DirectClient } from '../direct-client.js';

interface Pace {
  readonly rule: QueueRule;
  readonly onStoreError: StoreErrorPolicy;
}

export class LivePace {
  private readonly name: string;
  private readonly declared: Pace;
  private readonly client: DirectClient;
  private readonly control: Control | undefined;
  /** What was made of the limits that were set last. */
  private limits: LiveLimits | undefined;
  private live: Pace;

  constructor(name: string, rule: QueueRule, client: DirectClient, control: Control | undefined) {
    this.name = name;
    this.client = client;
    this.declared = this.paceOf(rule);
    this.live = this.declared;
    control?.register?.(name, rule);
    this.control = control && followed(control, client.store, client);
  }

  /** What counts for slots that are taken now. */
  get now(): Pace {
    const { control } = this;
    if (!control) return this.declared;
    const limits = control.settingsOf(this.name)?.limits;
    if (limits !== this.limits) {
      this.limits = limits;
      this.live = limits ? this.paceWith(limits) : this.declared;
    }
    return this.live;
  }

  /** How much longer an operator blocks the key, in milliseconds; 0 if nobody does. */
  blockedMs(key: string): number {
    const ruling: KeyRuling | undefined = this.control?.rulingOn(this.name, key);
    return ruling?.verdict === 'block' ? ruling.endsInMs : 0;
  }

  private paceWith({ limit, window, burst }: LiveLimits): Pace {
    const { rule } = this.declared;
    if (burst !== undefined) this.client.fault(burstStays(this.name));
    const windowUs = window === undefined ? rule.windowUs : windowToMicroseconds(window);
    return this.paceOf(makeShaperRule(limit ?? rule.limit, windowUs, rule.burst, rule.waitUs));
  }

  private paceOf(rule: QueueRule): Pace {
    return { rule, onStoreError: this.client.policyFor(rule) };
  }
}

function burstStays(limiter: string): Fault {
  const message = 'the burst of a shaper cannot be set live: jobs that wait may cost as much';
  return { limiter, source: 'control', error: new SpillwayError('SPW_BURST_INVALID', message) };
}
