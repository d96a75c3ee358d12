/**
 * A shaper's queue as stored text, as in Redis: `us:span` or `us:span:pause`. If the instant has a fraction of a
 * microsecond, the text is `us:span:pause:num:den`, and the pause may be 0.
 */

import type { Ask, QueueAnswer } from '../../contract/ask.js';
import type { QueueRule } from '../../contract/rule.js';
import type { Step } from '../../contract/store.js';
import { numbersOf, type StoredCount } from '../stored-count.js';
import { noQueue, type QueueState, restOf, stepQueue } from './queue-step.js';

const FORM = /^(\d+):(\d+)(?::(\d+)(?::(\d+):(\d+))?)?$/;

export function readQueue(text: string | undefined): StoredCount {
  return new StoredQueue(text === undefined ? noQueue() : queueOf(text));
}

function queueOf(text: string): QueueState {
  const [us = 0, spanUs = 0, pauseUs = 0, num = 0, den = 0] = numbersOf(text, FORM);
  return { dirty: false, us, num, den: Math.max(den, 1), spanUs, pauseUs };
}

class StoredQueue implements StoredCount {
  changed = false;
  private state: QueueState;

  constructor(state: QueueState) {
    this.state = state;
  }

  get expiresUs(): number {
    return restOf(this.state);
  }

  step(step: Step, nowUs: number, charge: boolean): QueueAnswer {
    // A copy, because `stepQueue` converts the state for this rule, but other rules and later charges need the
    // original.
    const state = { ...this.state };
    const answer = stepQueue(step as Ask<QueueRule>, state, nowUs, charge);
    if (state.dirty) {
      this.state = { ...state, dirty: false };
      this.changed = true;
    }
    return answer;
  }

  text(): string {
    return textOf(this.state);
  }
}

function textOf({ us, num, den, spanUs, pauseUs }: QueueState): string {
  if (num > 0) return `${us}:${spanUs}:${pauseUs}:${num}:${den}`;
  return pauseUs > 0 ? `${us}:${spanUs}:${pauseUs}` : `${us}:${spanUs}`;
}
