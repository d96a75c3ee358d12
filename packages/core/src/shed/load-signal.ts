/** What a shedder reads load from. */

import type { Clock } from '../base/clock.js';
import { disregard } from '../base/host.js';
import { Junk } from '../base/junk.js';

/** One measurement of load. */
export interface Reading {
  /** 0 is idle, 1 is at the mark, and it may be more. */
  readonly value: number;
  /** How long ago it was taken, in milliseconds. */
  readonly ageMs: number;
  /**
   * The time that the reading is about, in milliseconds. A reading that came late is about all the time since the one
   * before, and counts for all of it. Default: the time since the reading before, if that is not long ago.
   */
  readonly spanMs?: number;
}

/**
 * A source of load. It returns undefined while it has no data: shedders then keep what they do, and never shed more.
 *
 * @example
 * ```ts
 * import { type Signal, workerShedder } from '@spillway/core';
 *
 * const pool = { asked: 3, size: 10 }; // connections in use, and requests that wait for one
 * const signal: Signal = { name: 'pool', read: () => ({ value: pool.asked / pool.size, ageMs: 0 }) };
 * workerShedder({ name: 'pool', ladder: false, brake: { signal } });
 * ```
 */
export interface Signal {
  /** What it measures; a refusal carries this name. */
  readonly name: string;
  /** The newest reading, or undefined if there is none. */
  read(): Reading | undefined;
  /**
   * Calls `listener` after each new reading, so that a shedder follows the load when no requests come. Without it,
   * shedders read the signal at requests. May return a function that ends the calls: shedders that are no longer used
   * then leave nothing behind.
   */
  watch?(listener: () => void): void;
}

/**
 * The signal's reading, or undefined if there is none. Calls `fault` if it throws or returns something else.
 */
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

/** The time that a reading stands for. */
interface Coverage {
  /** When the reading was taken. */
  readonly atUs: number;
  /** How much time it counts for. */
  readonly elapsedUs: number;
  /** Whether the silence before this reading was so long that the old state no longer counts. */
  readonly afterSilence: boolean;
}

/**
 * A reading counts for all the time since the reading before it. Exception: if its own span leaves more than
 * `silenceUs` of that time unknown, it counts for its own span only. Undefined if the reading is not newer than the one
 * before.
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
 * Feeds a signal's readings to one of the two loops of a worker shedder. Reads its signal after each measurement if the
 * signal can be watched. If not, reads it when a request comes, at most once a period.
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
