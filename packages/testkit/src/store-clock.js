/** What a process of a fleet knows of the clock of its Redis, and of the slots that its shaper has taken there. */

import { delayOf, remoteStore } from '@spillway/core/store';

/** So many answers are kept, and the fastest of them counts. */
const SAMPLES = 20;

export class StoreClock {
  samples = [];
  redis;
  timer;

  constructor(redis) {
    this.redis = redis;
  }

  /** Asks the Redis for the time, now and again and again until it is stopped. */
  async start() {
    for (let i = 0; i < SAMPLES; i += 1) await this.learn();
    this.timer = setInterval(() => this.learn(), 100);
  }

  stop() {
    clearInterval(this.timer);
  }

  /** The latest time that the Redis may show now, in milliseconds. */
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

/** A store that tells the slots that are taken, in milliseconds of its clock, and what is given back. */
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
