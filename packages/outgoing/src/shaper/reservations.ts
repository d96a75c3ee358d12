/** Slots for work that a shaper does not start itself. */

import type { Clock } from '@spillway/core';
import { isLater } from '@spillway/core/adapter';
import { type Eventually, WallTime } from '@spillway/core/direct';
import type { Reservation, Unreserved } from './contract.js';
import type { KeyQueue } from './key-queue.js';
import type { LivePace } from './live-pace.js';
import type { Queues } from './queues.js';
import { unreserved } from './refusals.js';
import type { Heard, Slot, Slots } from './slots.js';
import type { Told } from './told.js';

type Reserved = Reservation | Unreserved;

export class Reservations {
  private readonly slots: Slots;
  private readonly queues: Queues;
  private readonly pace: LivePace;
  private readonly told: Told;
  private readonly wallTime: WallTime;
  private isClosed = false;
  private readonly answered = (heard: Heard): Reserved => this.answer(heard);

  constructor(slots: Slots, queues: Queues, pace: LivePace, told: Told, clock: Clock) {
    this.slots = slots;
    this.queues = queues;
    this.pace = pace;
    this.told = told;
    this.wallTime = new WallTime(clock);
  }

  /** From now on all are refused. */
  close(): void {
    this.isClosed = true;
  }

  take(key: string, cost: number): Eventually<Reserved> {
    if (this.isClosed) return unreserved(key, 'closed', Infinity);
    const blockedMs = this.pace.blockedMs(key);
    if (blockedMs > 0) {
      this.told.refused({ key, cost, rule: this.pace.of(key).rule }, 'blocked', blockedMs);
      return unreserved(key, 'blocked', blockedMs);
    }
    const queue = this.queues.get(key);
    const spare = queue?.takeSpare(cost);
    if (queue && spare) return this.takeSpare(queue, spare, cost);
    return this.slots.take(key, cost, this.answered) as Eventually<Reserved>;
  }

  /** A slot that this process has, unless a pause has begun that it has not heard of. */
  private takeSpare(queue: KeyQueue, spare: Slot, cost: number): Eventually<Reserved> {
    const { key } = spare;
    return this.slots.look(key, (heard): Eventually<Reserved> => {
      queue.hear(heard);
      // What the stand-in granted is void when the store answers again.
      const isVoid = (spare.isLocal && !heard.failure) || queue.isVoid(spare);
      if (!isVoid) return this.given(spare, cost, heard.heardUs);
      return this.slots.take(key, cost, this.answered) as Eventually<Reserved>;
    }) as Eventually<Reserved>;
  }

  /** The first of `keys`, of which there is at least one; else the one with the shortest wait. */
  takeFirst([key, ...others]: readonly string[], cost: number): Eventually<Reserved> {
    const then = (own: Reserved): Eventually<Reserved> => {
      if (own.allowed || others.length === 0) return own;
      const shorter = (other: Reserved) =>
        other.allowed || other.wouldWaitMs < own.wouldWaitMs ? other : own;
      const other = this.takeFirst(others, cost);
      return isLater(other) ? other.then(shorter) : shorter(other);
    };
    const own = this.take(key as string, cost);
    return isLater(own) ? own.then(then) : then(own);
  }

  private answer(heard: Heard): Reserved {
    const { key, step } = heard;
    const queue = this.queues.get(key);
    queue?.hear(heard);
    const placed = queue?.place(heard, undefined) ?? heard;
    const { slot, heardUs, isUnknown, waitMs } = placed;
    if (slot) return this.given(slot, step.cost, heardUs);
    this.told.refusedBy(placed);
    return unreserved(key, isUnknown ? 'store-error' : 'wait', waitMs);
  }

  private given(slot: Slot, cost: number, nowUs: number): Reserved {
    const { key } = slot;
    if (!this.isClosed) {
      const reservation = this.reservation(slot, nowUs);
      this.told.started(slot, cost);
      return reservation;
    }
    this.queues.of(key).release(slot);
    return unreserved(key, 'closed', Infinity);
  }

  private reservation(slot: Slot, nowUs: number): Reservation {
    const { key } = slot;
    // The store does not know of a slot of the stand-in: what is asked of it later must come behind.
    const queue = slot.isLocal ? this.queues.of(key) : this.queues.get(key);
    const atUs = queue?.promise(slot, nowUs) ?? Math.max(slot.at.localUs, nowUs);
    let isHeld = true;
    const cancel = () => {
      // Once it may start, its time counts, whether it did or not.
      if (isHeld && this.slots.nowUs() <= atUs) this.queues.of(key).release(slot);
      isHeld = false;
    };
    const startAt = this.wallTime.at(atUs, nowUs);
    return { allowed: true, key, delayMs: (atUs - nowUs) / 1_000, startAt, cancel };
  }
}
