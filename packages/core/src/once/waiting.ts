/** Repeats that wait for the request that is running. */

import { after } from '../base/host.js';
import type { ClaimsAnswer } from '../contract/answer.js';
import type { KeepContext, KeptExchange } from '../contract/keeping.js';
import type { Claim, Step } from '../contract/store.js';

/** How often the store is asked: less and less. */
const FIRST_MS = 50;
const LAST_MS = 500;

/** After the answer was kept in this process: the store is about to know it. */
const SOON_MS = 10;

/** The runs of this process, by their claims, for those who wait. */
export class Waiting {
  private readonly running = new Map<string, Promise<void>>();
  /** Until when each claim is waited for, in microseconds. */
  private readonly untilUs = new WeakMap<Claim, number>();
  private readonly waitUs: number;

  constructor(waitUs: number) {
    this.waitUs = waitUs;
  }

  /** A run has begun, which settles `over`. */
  note(step: Step, over: Promise<void>): void {
    if (this.waitUs === 0) return;
    const name = nameOf(step);
    this.running.set(name, over);
    void over.then(() => {
      if (this.running.get(name) === over) this.running.delete(name);
    });
  }

  /** Whether the claim is worth asking for again; false if it still runs when the wait is over. */
  async wait(step: Step, exchange: KeptExchange, context: KeepContext): Promise<boolean> {
    const claim = step.claim as Claim;
    const { clock } = context;
    const untilUs = this.untilUs.get(claim) ?? clock.nowUs() + this.waitUs;
    this.untilUs.set(claim, untilUs);
    let pauseMs = FIRST_MS;
    for (;;) {
      const leftMs = (untilUs - clock.nowUs()) / 1000;
      if (leftMs <= 0 || exchange.isGone()) return false;
      const isOver = await paused(Math.min(pauseMs, leftMs), this.running.get(nameOf(step)));
      pauseMs = isOver ? SOON_MS : Math.min(2 * pauseMs, LAST_MS);
      const answer = await context.ask({ ...step, op: 'look', binding: false });
      if (!answer.failure && (answer as ClaimsAnswer).state !== 'running') return true;
    }
  }
}

/** Settles after a time, or with `over`; whether it was that. */
function paused(ms: number, over: Promise<void> | undefined): Promise<boolean> {
  return new Promise((resolve) => {
    const cancel = after(ms, () => resolve(false));
    void over?.then(() => {
      cancel();
      resolve(true);
    });
  });
}

/** The lengths keep the parts apart. */
function nameOf({ limiter, key, claim }: Step): string {
  return `${limiter.length} ${key.length} ${limiter}${key}${claim?.id}`;
}
