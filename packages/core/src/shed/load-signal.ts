import type { Clock } from '../base/clock.js';
import { disregard } from '../base/host.js';
import { Junk } from '../base/junk.js';

/** One measurement of load. */
export interface Reading {
  /** The load: 0 is idle, and 1 is the target of the brake or full utilization for the ladder. May be above 1. */
  readonly value: number;
  /** How long ago the load was measured, in milliseconds. */
  readonly ageMs: number;
  /**
   * The time that the measurement covers, in milliseconds: for a late reading, all the time since the previous one.
   * After a gap of more than 8 s between measurements, the shedder forgets its earlier state. Default: 100 ms for the
   * brake, 1 s for the ladder.
   */
  readonly spanMs?: number;
}

/**
 * A source of load readings. While it has no data, `read` returns undefined. Shedders then keep their state until the
 * next reading is 8 s late, and after that shed nothing.
 *
 * @example
 * ```ts
 * import { type Signal, workerShedder } from '@spillway/core';
 *
 * const pool = { asked: 3, size: 10 }; // asked: connections in use + requests that wait for one
 * const signal: Signal = { name: 'pool', read: () => ({ value: pool.asked / pool.size, ageMs: 0 }) };
 * workerShedder({ name: 'pool', ladder: false, brake: { signal } });
 * ```
 */
export interface Signal {
  /** What the signal measures. Rejections carry this name. */
  readonly name: string;
  read(): Reading | undefined;
  /**
   * Calls `listener` after each new reading, so shedders follow the load when no requests arrive. May return a function
   * that stops the calls; it is called after the shedder has been garbage-collected. Shedders also read the signal when
   * a request arrives, but not more often than once per 100 ms (brake) or 1 s (ladder).
   */
  watch?(listener: () => void): void;
}

export function readSafely(signal: Signal, fault?: (error: unknown) => void): Reading | undefined {
  try {
    const reading: unknown = signal.read();
    if (reading === undefined || isReading(reading)) return reading;
    fault?.(new Junk(`signal "${signal.name}"`, reading));
  } catch (error) {
    fault?.(error);
  }
  return undefined;
}

function isReading(given: unknown): given is Reading {
  if (typeof given !== 'object' || given === null) return false;
  const { value, ageMs, spanMs } = given as Partial<Reading>;
  return isAmount(value) && isAmount(ageMs) && (spanMs === undefined || isAmount(spanMs));
}

function isAmount(value: unknown): boolean {
  return typeof value === 'number' && value >= 0 && value < Number.POSITIVE_INFINITY;
}

interface Coverage {
  readonly atUs: number;
  readonly elapsedUs: number;
  /** Whether there was no reading for so long that the old state no longer counts. */
  readonly afterSilence: boolean;
}

/**
 * The time that a reading counts for. It is the time since the previous reading or, after a gap of more than
 * `silenceUs` between measurements, the span of the reading. Undefined if the reading is not newer than the previous
 * one.
 */
export function coverageOf(
  reading: Reading,
  sinceUs: number,
  nowUs: number,
  periodUs: number,
  silenceUs: number,
): Coverage | undefined {
  const atUs = nowUs - Math.round(reading.ageMs * 1000);
  const elapsedUs = atUs - sinceUs;
  if (elapsedUs <= 0) return undefined;
  const spanUs = Math.round((reading.spanMs ?? periodUs / 1000) * 1000);
  const afterSilence = elapsedUs - spanUs > silenceUs;
  return { atUs, elapsedUs: afterSilence ? spanUs : elapsedUs, afterSilence };
}

type Advance<State> = (state: State, reading: Reading | undefined, nowUs: number) => State;

/**
 * Feeds a signal's readings to one of the two loops of a worker shedder. If the signal can be watched, it is read after
 * each measurement. It is also read when a request arrives, unless it was read less than a period ago.
 */
export class SignalLoop<State> {
  private known: State | undefined;
  private readUs = 0;
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

  at(nowUs: number): State {
    if (this.known === undefined) this.start(nowUs);
    else if (nowUs - this.readUs >= this.periodUs) this.readSignal(nowUs);
    return this.peek(nowUs);
  }

  peek(nowUs: number): State {
    // Not stored, because a late reading must continue from the state before the gap.
    return this.advance(this.known ?? this.rest(nowUs), undefined, nowUs);
  }

  private start(nowUs: number): void {
    this.known = this.rest(nowUs);
    this.readSignal(nowUs);
    try {
      watchSignal(this.signal, this);
    } catch {
      // The signal can't be watched, so it is read when requests arrive.
    }
  }

  measured(): void {
    this.readSignal(this.clock.nowUs());
  }

  private readonly failed = (error: unknown): void => {
    this.fault = error;
  };

  private readSignal(nowUs: number): void {
    this.readUs = nowUs;
    const reading = readSafely(this.signal, this.failed);
    if (reading) this.known = this.advance(this.known ?? this.rest(nowUs), reading, nowUs);
  }
}

interface Watcher {
  measured(): void;
}

/** Holds the watcher weakly: a signal can outlive the shedders of tests and reloads. */
function watchSignal(signal: Signal, watcher: Watcher): void {
  const watched = weakly(watcher);
  const stop: unknown = signal.watch?.(() => {
    const there = watched();
    if (there) there.measured();
    else if (typeof stop === 'function') disregard(stop());
  });
  disregard(stop);
}

/** Not written inside `watchSignal`, because it could then retain `watcher` and all other variables there. */
function weakly(watcher: Watcher): () => Watcher | undefined {
  if (typeof WeakRef === 'undefined') return strongly(watcher); // Workers before May 2025
  const weak = new WeakRef(watcher);
  return () => weak.deref();
}

function strongly(watcher: Watcher): () => Watcher {
  return () => watcher;
}
