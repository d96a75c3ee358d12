/** Time that jumps from timer to timer, for many processes in one test. */

import { ManualClock } from '@spillway/core/testing';

interface Timer {
  readonly atUs: number;
  readonly call: () => void;
}

export class VirtualTime {
  readonly clock: ManualClock = new ManualClock();
  private timers: Timer[] = [];

  nowMs(): number {
    return this.clock.nowUs() / 1000;
  }

  sleep(ms: number): Promise<void> {
    return new Promise((call) => {
      this.timers.push({ atUs: this.clock.nowUs() + Math.max(0, Math.round(ms * 1000)), call });
    });
  }

  /** Lets `ms` pass; the timers that are due run in order. */
  async run(ms: number): Promise<void> {
    const endUs = this.clock.nowUs() + ms * 1000;
    for (;;) {
      await settled();
      const next = this.timers.reduce<Timer | undefined>(
        (first, timer) => (!first || timer.atUs < first.atUs ? timer : first),
        undefined,
      );
      if (!next || next.atUs > endUs) break;
      this.timers = this.timers.filter((timer) => timer !== next);
      this.move(next.atUs);
      next.call();
    }
    this.move(endUs);
  }

  private move(toUs: number): void {
    const us = toUs - this.clock.nowUs();
    if (us > 0) this.clock.advance(us / 1000);
  }
}

/** Waits until everything has run that waits only for promises. */
async function settled(): Promise<void> {
  for (let round = 0; round < 3; round += 1) await new Promise(setImmediate);
}
