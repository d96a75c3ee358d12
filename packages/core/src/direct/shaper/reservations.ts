/** Slots for work that a shaper does not start itself. */

import { type Clock, WallTime } from '../../base/clock.js';
import type { Reservation, Unreserved } from '../../contract/shaper.js';
import type { Eventually } from '../direct-client.js';
import type { LivePace } from './live-pace.js';
import type { Queues } from './queues.js';
import { unreserved } from './refusals.js';
import type { Heard, Slot, Slots } from './slots.js';

type Reserved = Reservation | Unreserved;

export class Reservations {
  private readonly slots: Slots;
  private readonly queues: Queues;
  private readonly pace: LivePace;
  private readonly wallTime: WallTime;
  private isClosed = false;
  private readonly answered = (heard: Heard): Eventually<Reserved> => this.answer(heard);

  constructor(slots: Slots, queues: Queues, pace: LivePace, clock: Clock) {
    this.slots = slots;
    this.queues = queues;
    this.pace = pace;
    this.wallTime = new WallTime(clock);
  }

  /** From now on all are refused. */
  close(): void {
    this.isClosed = true;
  }

  take(key: string, cost: number): Eventually<Reserved> {
    if (this.isClosed) return unreserved(key, 'closed', Infinity);
    const blockedMs = this.pace.blockedMs(key);
    if (blockedMs > 0) return unreserved(key, 'blocked', blockedMs);
    const spare = this.queues.get(key)?.takeSpare(cost);
    if (spare) return this.reservation(spare, this.slots.nowUs());
    return this.slots.take(key, cost, this.answered) as Eventually<Reserved>;
  }

  /** `keys` are different, and at least one. */
  takeFirst(keys: readonly string[], cost: number): Eventually<Reserved> {
    const [first] = keys as readonly [string];
    if (this.isClosed) return unreserved(first, 'closed', Infinity);
    const open = keys.filter((key) => this.pace.blockedMs(key) === 0);
    if (open.length > 0) {
      return this.slots.takeFirst(open, cost, this.answered) as Eventually<Reserved>;
    }
    const blocked = keys.map((key) => ({ key, ms: this.pace.blockedMs(key) }));
    const { key, ms } = blocked.reduce((best, one) => (one.ms < best.ms ? one : best));
    return unreserved(key, 'blocked', ms);
  }

  private answer(heard: Heard): Eventually<Reserved> {
    const { key, slot, heardUs, isUnknown, waitMs } = heard;
    const queue = this.queues.get(key);
    queue?.hear(heard);
    if (!slot) return unreserved(key, isUnknown ? 'store-error' : 'wait', waitMs);
    if (this.isClosed) {
      this.queues.of(key).release(slot);
      return unreserved(key, 'closed', Infinity);
    }
    if (queue?.localPace.forbids(slot)) {
      return this.slots.take(key, slot.cost, this.answered) as Eventually<Reserved>;
    }
    return this.reservation(slot, heardUs);
  }

  private reservation(slot: Slot, nowUs: number): Reservation {
    const { key } = slot;
    if (slot.isLocal) this.queues.of(key).localPace.count(slot);
    const atUs = Math.max(slot.at.localUs, nowUs);
    let isHeld = true;
    const cancel = () => {
      if (isHeld) this.queues.of(key).release(slot);
      isHeld = false;
    };
    const startAt = this.wallTime.at(atUs, nowUs);
    return { allowed: true, key, delayMs: (atUs - nowUs) / 1_000, startAt, cancel };
  }
}
