/** Feeds a signal's readings to one of the two loops of a worker shedder. */

import type { Clock } from '../base/clock.js';
import { disregard } from '../base/host.js';
import { type Reading, readSafely, type Signal } from './signal.js';

type Advance<State> = (state: State, reading: Reading | undefined, nowUs: number) => State;

/**
 * Reads its signal after each measurement if the signal can be watched. If not, reads it when a request comes, at most
 * once a period.
 */
export class SignalLoop<State> {
  private known: State | undefined;
  private readUs = 0;
  /** What the signal did in place of giving a reading, until somebody is told. */
  fault: unknown;
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
      watch(this.signal, this);
    } catch {
      // A signal that cannot be watched is read at requests.
    }
  }

  /** The signal has a new reading. */
  measured(): void {
    this.read(this.clock.nowUs());
  }

  private readonly failed = (error: unknown): void => {
    this.fault = error;
  };

  private read(nowUs: number): void {
    this.readUs = nowUs;
    const reading = readSafely(this.signal, this.failed);
    if (reading) this.known = this.advance(this.known ?? this.rest(nowUs), reading, nowUs);
  }
}

interface Watcher {
  measured(): void;
}

/** Shedders that a test or a reload has made come and go; the signal belongs to the process and must not hold them. */
function watch(signal: Signal, watcher: Watcher): void {
  const watched = weakly(watcher);
  const stop: unknown = signal.watch?.(() => {
    const there = watched();
    if (there) there.measured();
    else if (typeof stop === 'function') disregard(stop());
  });
  disregard(stop);
}

/** A function of its own: a closure holds all that the function around it has. */
function weakly(watcher: Watcher): () => Watcher | undefined {
  if (typeof WeakRef === 'undefined') return strongly(watcher); // Workers of before May 2025
  const weak = new WeakRef(watcher);
  return () => weak.deref();
}

function strongly(watcher: Watcher): () => Watcher {
  return () => watcher;
}
