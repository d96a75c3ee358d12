/** The slots of a shaper: asked of the store, and given back to it. */

import type { Answer, Step } from '@spillway/core';
import type { DirectClient, Eventually, Limit } from '@spillway/core/direct';
import { type Heard, Hearing, putOf, type Slot } from './hearing.js';
import type { LivePace } from './live-pace.js';
import { LookAhead } from './look-ahead.js';
import { StoreTimes } from './store-time.js';
import { Underway } from './underway.js';

export type { Heard, Slot };

/** What came of giving a slot back. `kept`: others wait for later ones. `unknown`: the store did not answer. */
type GivenBack = 'done' | 'kept' | 'unknown';

export class Slots {
  readonly ahead: LookAhead = new LookAhead();
  /** Calls that the store has not answered. */
  readonly underway: Underway = new Underway();
  private readonly client: DirectClient;
  private readonly limit: Limit;
  private readonly pace: LivePace;
  private readonly hearing: Hearing;

  /** @param phase see {@link Hearing} */
  constructor(client: DirectClient, limit: Limit, pace: LivePace, phase: number) {
    const { store } = client;
    this.client = client;
    this.limit = limit;
    this.pace = pace;
    const times = store.hasOurTime ? undefined : new StoreTimes(store.store);
    this.hearing = new Hearing(times, phase);
  }

  nowUs(): number {
    return this.client.store.clock.nowUs();
  }

  /** @throws SpillwayError `SPW_KEY_INVALID` */
  take<Value>(key: string, cost: number, then: (heard: Heard) => Value): Eventually<Value> {
    return this.ask(this.step('take', key, cost), then);
  }

  /** @throws SpillwayError `SPW_KEY_INVALID` */
  look<Value>(key: string, then: (heard: Heard) => Value): Eventually<Value> {
    return this.ask(this.step('look', key, 1), then);
  }

  /**
   * Nobody starts for so many microseconds.
   *
   * @throws SpillwayError `SPW_KEY_INVALID`
   */
  hold<Value>(key: string, holdUs: number, then: (heard: Heard) => Value): Eventually<Value> {
    return this.ask({ ...this.step('hold', key, 0), holdUs }, then);
  }

  giveBack(slot: Slot): Eventually<GivenBack> {
    const given = this.client.giveBack([putOf(slot)], ([answer]): GivenBack => {
      const { allowed, failure } = answer as Answer;
      if (failure && !slot.isLocal) return 'unknown';
      return allowed ? 'done' : 'kept';
    });
    return this.underway.add(given);
  }

  private step(op: Step['op'], key: string, cost: number): Step {
    const step = this.limit.step(op, key, cost);
    const { rule, onStoreError } = this.pace.of(key);
    return rule === step.rule ? step : { ...step, rule, onStoreError };
  }

  private ask<Value>(step: Step, then: (heard: Heard) => Value): Eventually<Value> {
    const { store } = this.client;
    const answer = store.link.askNow(step);
    if (answer) {
      // A store in our memory and by our clock has just read it.
      const nowUs = store.hasOurTime ? answer.nowUs : this.nowUs();
      return then(this.heard(step, answer, nowUs, nowUs));
    }
    const askedUs = this.nowUs();
    const told = this.client.ask([step], ([later]) =>
      then(this.heard(step, later as Answer, askedUs, this.nowUs())),
    );
    return this.underway.add(told);
  }

  private heard(step: Step, answer: Answer, askedUs: number, heardUs: number): Heard {
    const heard = this.hearing.of(step, answer, askedUs, heardUs);
    if (!heard.isUnknown)
      this.ahead.hear(heardUs - askedUs, heard.pausedUntil?.localUs ?? -Infinity);
    if (heard.tooFar) void this.giveBack(heard.tooFar);
    return heard;
  }
}
