/** Tracks, in a process of a fleet, the clock of its Redis and the slots that its shaper takes. */

import { delayOf, remoteStore } from '@spillway/core/store';

/** How many answers are kept. The fastest of them determines the time. */
const SAMPLES = 20;

export class StoreClock {
  samples = [];
  redis;
  timer;

  constructor(redis) {
    this.redis = redis;
  }

  /** Asks Redis for the time at once, and then every 100 ms until `stop` is called. */
  async start() {
    for (let i = 0; i < SAMPLES; i += 1) await this.learn();
    this.timer = setInterval(() => this.learn(), 100);
  }

  stop() {
    clearInterval(this.timer);
  }

  /** The latest time that the clock of Redis may show now, in milliseconds. */
  latestMs() {
    return performance.now() + Math.min(...this.samples);
  }

  async learn() {
    const askedMs = performance.now();
    const [seconds, micros] = await this.redis.time();
    const aheadMs = Number(seconds) * 1_000 + Number(micros) / 1_000 - askedMs;
    this.samples = [...this.samples.slice(1 - SAMPLES), aheadMs];
  }
}

/** A store that reports each slot that is taken, in milliseconds by its clock, and each refund. */
export function toldStore(store, { onSlot, onGivenBack = () => undefined }) {
  return remoteStore({
    sync: false,
    async apply(steps, options) {
      const answers = await store.apply(steps, options);
      for (const [i, { op, rule }] of steps.entries()) {
        const answer = answers[i];
        if (!answer.allowed) continue;
        if (op === 'take') onSlot(answer.nowUs / 1_000 + delayOf(rule, answer));
        if (op === 'put') onGivenBack();
      }
      return answers;
    },
  });
}
