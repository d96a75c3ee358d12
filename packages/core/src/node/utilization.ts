/** The signal of the ladder: which part of each second the event loop was busy. */

import type { Reading } from '../shed/load-signal.js';
import { type LoopTimes, loopTimes, monotonicMs } from './host.js';
import { Ticker } from './ticker.js';
import { type EventLoopWaitOptions, eventLoopWaitSignal, type TimedSignal } from './wait.js';

const PERIOD_MS = 1000;

/** Utilization of the event loop, with its wait for the brake. */
export interface EventLoopSignal extends TimedSignal {
  readonly wait: TimedSignal;
}

/**
 * How busy the event loop was in the last second, 0 to 1, and in `wait` how late it is: what both loops of a
 * `workerShedder` need. One is enough for a process; each worker thread has a loop of its own. Where the host counts no
 * utilization, it has no data.
 *
 * @throws SpillwayError `SPW_OPTION_INVALID`
 * @example
 * ```ts
 * import { workerShedder } from '@spillway/core';
 * import { eventLoopSignal } from '@spillway/core/node';
 *
 * const signal = eventLoopSignal();
 * const shedder = workerShedder({ name: 'workers', signal });
 * signal.close(); // on shutdown; its timers never keep the process alive
 * ```
 */
export function eventLoopSignal(options: EventLoopWaitOptions = {}): EventLoopSignal {
  return new UtilizationSignal(eventLoopWaitSignal(options));
}

class UtilizationSignal implements EventLoopSignal {
  readonly name = 'event-loop-utilization';
  private baseline: LoopTimes | undefined;
  private measuredMs = 0;
  private newest: { readonly value: number; readonly spanMs: number } | undefined;
  private readonly ticker = new Ticker(
    PERIOD_MS,
    () => this.measure(),
    () => this.measure(),
  );
  readonly wait: TimedSignal;

  constructor(wait: TimedSignal) {
    this.wait = wait;
  }

  read(): Reading | undefined {
    if (!this.ticker.running() || !this.newest) return undefined;
    return { ...this.newest, ageMs: monotonicMs() - this.measuredMs };
  }

  watch(listener: () => void): () => void {
    return this.ticker.watch(listener);
  }

  close(): void {
    this.ticker.close();
    this.wait.close();
  }

  private measure(): void {
    const times = loopTimes();
    const nowMs = monotonicMs();
    // Against the sample before, not since the start: an average over days sees no overload.
    if (times && this.baseline) {
      const active = times.active - this.baseline.active;
      const total = active + times.idle - this.baseline.idle;
      if (total > 0) this.newest = { value: active / total, spanMs: nowMs - this.measuredMs };
    }
    this.baseline = times;
    this.measuredMs = nowMs;
  }
}
