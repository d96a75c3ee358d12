import type { Reading } from '../shed/load-signal.js';
import { type LoopTimes, loopTimes, monotonicMs } from './host.js';
import { Ticker } from './ticker.js';
import { type EventLoopWaitOptions, eventLoopWaitSignal, type TimedSignal } from './wait.js';

const PERIOD_MS = 1000;

/** Event loop utilization, with the event loop delay as `wait`. */
export interface EventLoopSignal extends TimedSignal {
  readonly wait: TimedSignal;
}

/**
 * Measures both signals of a `workerShedder`: the event loop utilization of the last second, 0 to 1, and in `wait` the
 * event loop delay. One per process is enough, but each worker thread needs its own. If the host doesn't report
 * utilization (Bun, Deno), only `wait` has readings.
 *
 * @throws SpillwayError `SPW_OPTION_INVALID`, `SPW_OPTION_UNKNOWN`
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

class UtilizationSignal extends Ticker implements EventLoopSignal {
  readonly name = 'event-loop-utilization';
  private baseline: LoopTimes | undefined;
  private measuredMs = 0;
  private newest: { readonly value: number; readonly spanMs: number } | undefined;
  readonly wait: TimedSignal;

  constructor(wait: TimedSignal) {
    super(PERIOD_MS);
    this.wait = wait;
  }

  read(): Reading | undefined {
    if (!this.running() || !this.newest) return undefined;
    return { ...this.newest, ageMs: monotonicMs() - this.measuredMs };
  }

  override close(): void {
    super.close();
    this.wait.close();
  }

  protected override measure(): void {
    const times = loopTimes();
    const nowMs = monotonicMs();
    // The value is the difference to the previous sample, because an average since startup would hide an overload.
    if (times && this.baseline) {
      const active = times.active - this.baseline.active;
      const total = active + times.idle - this.baseline.idle;
      if (total > 0) this.newest = { value: active / total, spanMs: nowMs - this.measuredMs };
    }
    this.baseline = times;
    this.measuredMs = nowMs;
  }
}
