/** The signal of the brake: how long work waits for the event loop. */

import { checkOptions } from '../base/check-shapes.js';
import { type Duration, toMicroseconds } from '../base/duration.js';
import { mustBe } from '../base/errors.js';
import { afterPendingInput } from '../base/host.js';
import type { Reading, Signal } from '../shed/load-signal.js';
import { countConnections, loopTimes, monotonicMs } from './host.js';
import { Ticker } from './ticker.js';
import { WaitMeter } from './wait-meter.js';

/** How often the timer asks for its turn. */
const PERIOD_MS = 20;

/** Options of {@link eventLoopWaitSignal}. */
export interface EventLoopWaitOptions {
  /** The wait that counts as 1, the mark at which the brake holds the loop. Default `'40ms'`. */
  readonly target?: Duration | undefined;
}

/** A signal with a timer of its own, which never keeps the process alive. */
export interface TimedSignal extends Signal {
  watch(listener: () => void): () => void;
  /** Stops the timer for good; shedders that read the signal then hold, and rest. */
  close(): void;
}

/**
 * How late the event loop is, against the target: 1 when work waits 40 ms for its turn, or when connections have waited
 * to be accepted for 400 ms. While other processes have the processor, a wait counts by the part that this one gets of
 * it, but at least by half. 0 while the loop is busy for less than half of its time: then refusing requests would
 * not help. Where the host counts no utilization (Bun, Deno), every wait counts in full.
 *
 * @throws SpillwayError `SPW_OPTION_INVALID`
 * @example
 * ```ts
 * import { workerShedder } from '@spillway/core';
 * import { eventLoopWaitSignal } from '@spillway/core/node';
 *
 * workerShedder({ name: 'brake', ladder: false, brake: { signal: eventLoopWaitSignal({ target: '60ms' }) } });
 * ```
 */
export function eventLoopWaitSignal(options: EventLoopWaitOptions = {}): TimedSignal {
  checkOptions(options, 'the signal', { target: 1 });
  // With random arrivals and a mean wait of 20 ms, the queue is empty for 7 % of the time, with 40 ms for 3 %: in
  // overload, 287 requests a second are served instead of 270.
  const targetMs = toMicroseconds(options.target ?? '40ms', 'target') / 1000;
  if (targetMs === 0) throw mustBe('target', 'more than 0ms', options.target);
  return new WaitSignal(targetMs);
}

class WaitSignal implements TimedSignal {
  readonly name = 'event-loop-wait';
  private meter = meterFrom(0);
  private stopCounting: (() => void) | undefined;
  private readonly ticker = new Ticker(
    PERIOD_MS,
    () => {
      this.stopCounting = countConnections();
      this.meter = meterFrom(monotonicMs());
    },
    () => {
      this.meter.fired(monotonicMs(), loopTimes());
      afterPendingInput(() => this.meter.turned(monotonicMs(), loopTimes()));
    },
  );
  private readonly targetMs: number;

  constructor(targetMs: number) {
    this.targetMs = targetMs;
  }

  read(): Reading | undefined {
    if (!this.ticker.running()) return undefined;
    const nowMs = monotonicMs();
    return {
      value: this.meter.value(nowMs, loopTimes(), this.targetMs),
      ageMs: 0,
      spanMs: this.meter.coveredMs(nowMs),
    };
  }

  watch(listener: () => void): () => void {
    return this.ticker.watch(listener);
  }

  close(): void {
    this.stopCounting?.();
    this.stopCounting = undefined;
    this.ticker.close();
  }
}

function meterFrom(nowMs: number): WaitMeter {
  return new WaitMeter(PERIOD_MS, nowMs, loopTimes());
}
