/** Keeps a pure loop up to date with its signal. */

import type { Clock } from '../base/clock.js';
import { type Reading, readSafely, type Signal } from './signal.js';

type Advance<State> = (state: State, sample: Reading | undefined, nowUs: number) => State;

/**
 * Asks its signal at each measurement if it can be watched, and otherwise when a request comes, at most once a period.
 */
export class SignalLoop<State> {
  private known: State | undefined;
  private askedUs = 0;
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
    else if (nowUs - this.askedUs >= this.periodUs) this.ask(nowUs);
    return this.peek(nowUs);
  }

  /** The state now, for a gauge: nothing is started or kept. */
  peek(nowUs: number): State {
    // Silence is judged anew each time: a measurement that is only late still finds what was known before it.
    return this.advance(this.known ?? this.rest(nowUs), undefined, nowUs);
  }

  private start(nowUs: number): void {
    this.known = this.rest(nowUs);
    this.ask(nowUs);
    try {
      this.signal.watch?.(() => this.ask(this.clock.nowUs()));
    } catch {
      // It is asked at requests all the same.
    }
  }

  private ask(nowUs: number): void {
    this.askedUs = nowUs;
    const reading = readSafely(this.signal);
    if (reading) this.known = this.advance(this.known ?? this.rest(nowUs), reading, nowUs);
  }
}
