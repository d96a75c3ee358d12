import { checkOptions } from '../base/check-shapes.js';
import { type Duration, toMicroseconds } from '../base/duration.js';
import { mustBe } from '../base/errors.js';
import { afterPendingInput } from '../base/host.js';
import type { Reading, Signal } from '../shed/load-signal.js';
import { countConnections, loopTimes, monotonicMs } from './host.js';
import { Ticker } from './ticker.js';
import { WaitMeter } from './wait-meter.js';

const PERIOD_MS = 20;

export interface EventLoopWaitOptions {
  /** The event loop delay that the brake aims for when it rejects requests. Default `'40ms'`. */
  readonly target?: Duration | undefined;
}

/** A signal with its own timer, which never keeps the process alive. */
export interface TimedSignal extends Signal {
  watch(listener: () => void): () => void;
  /**
   * Stops the timer permanently. Shedders that read the signal keep their state at first, and stop shedding once the
   * last reading is outdated.
   */
  close(): void;
}

/**
 * The event loop delay relative to the target: 1 when work waits 40 ms (the default target) for its turn, or when the
 * loop has accepted connections for 400 ms without idling. While other processes use the CPU, the delay is weighted by
 * this process's CPU share, at least one half. The signal is 0 while the loop is less than half busy, because rejecting
 * requests would not help then. If the host doesn't report utilization (Bun, Deno), every delay counts in full.
 *
 * @throws SpillwayError `SPW_OPTION_INVALID`, `SPW_OPTION_UNKNOWN`
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
  // With a longer queue, the loop idles less often: in overload, 287 requests a second were served with a target of
  // 40 ms, and 270 with 20 ms.
  const targetMs = toMicroseconds(options.target ?? '40ms', 'target') / 1000;
  if (targetMs === 0) throw mustBe('target', 'more than 0ms', options.target);
  return new WaitSignal(targetMs);
}

class WaitSignal extends Ticker implements TimedSignal {
  readonly name = 'event-loop-wait';
  private meter = meterFrom(0);
  private stopCounting: (() => void) | undefined;
  private readonly targetMs: number;

  constructor(targetMs: number) {
    super(PERIOD_MS);
    this.targetMs = targetMs;
  }

  read(): Reading | undefined {
    if (!this.running()) return undefined;
    const nowMs = monotonicMs();
    return {
      value: this.meter.value(nowMs, loopTimes(), this.targetMs),
      ageMs: 0,
      spanMs: this.meter.coveredMs(nowMs),
    };
  }

  override close(): void {
    this.stopCounting?.();
    this.stopCounting = undefined;
    super.close();
  }

  protected override begin(): void {
    this.stopCounting = countConnections();
    this.meter = meterFrom(monotonicMs());
  }

  protected override measure(): void {
    this.meter.fired(monotonicMs(), loopTimes());
    afterPendingInput(() => this.meter.turned(monotonicMs(), loopTimes()));
  }
}

function meterFrom(nowMs: number): WaitMeter {
  return new WaitMeter(PERIOD_MS, nowMs, loopTimes());
}
