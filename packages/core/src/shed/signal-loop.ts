/** Feeds a signal's readings to one of the two loops of a worker shedder. */

import type { Clock } from '../base/clock.js';
import { type Reading, readSafely, type Signal } from './signal.js';

type Advance<State> = (state: State, reading: Reading | undefined, nowUs: number) => State;

/**
 * Reads its signal after each measurement if the signal can be watched. If not, reads it when a request comes, at most
 * once a period.
 */
export class SignalLoop<State> {
  private known: State | undefined;
  private readUs = 0;
  readonly signal: Signal;
  private readonly clock: Clock;
  private readonly periodUs: number;
  private readonly rest: (nowUs: number) => State;
  private readonly advance: Advance<State>;

  constructor(
    signal: Signal,
    clock: Clock,
    periodUs: number,
    rest: (nowUs: number) => State,
    advance: Advance<State>,
  ) {
    this.signal = signal;
    this.clock = clock;
    this.periodUs = periodUs;
    this.rest = rest;
    this.advance = advance;
  }

  /** The state at a request; the first one starts the signal. */
  at(nowUs: number): State {
    if (this.known === undefined) this.start(nowUs);
    else if (nowUs - this.readUs >= this.periodUs) this.read(nowUs);
    return this.peek(nowUs);
  }

  /** The state now, for a gauge. Starts nothing and keeps nothing. */
  peek(nowUs: number): State {
    // Not stored: if a reading is only late, it must find the state from before the silence.
    return this.advance(this.known ?? this.rest(nowUs), undefined, nowUs);
  }

  private start(nowUs: number): void {
    this.known = this.rest(nowUs);
    this.read(nowUs);
    try {
      this.signal.watch?.(() => this.read(this.clock.nowUs()));
    } catch {
      // A signal that cannot be watched is read at requests.
    }
  }

  private read(nowUs: number): void {
    this.readUs = nowUs;
    const reading = readSafely(this.signal);
    if (reading) this.known = this.advance(this.known ?? this.rest(nowUs), reading, nowUs);
  }
}
