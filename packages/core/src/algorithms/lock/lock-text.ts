/** Counts of limits with a penalty as stored text, as in Redis: `end:current:level:ended:until`. */

import type { Ask, LockAnswer } from '../../contract/ask.js';
import type { LockRule, Rule } from '../../contract/rule.js';
import type { Step } from '../../contract/store.js';
import { numbersOf, type StoredCount } from '../stored-count.js';
import { type LockState, lockExpiresUs, stepLock, unusedLock } from './lock-step.js';

const FORM = /^(\d+):(\d+):(\d+):(\d+):(\d+)$/;

export function readLock(text: string | undefined, rule: Rule): StoredCount {
  return new StoredLock(text === undefined ? unusedLock() : lockOf(text), rule as LockRule);
}

function lockOf(text: string): LockState {
  const [endUs = 0, current = 0, level = 0, endedUs = 0, untilUs = 0] = numbersOf(text, FORM);
  return { dirty: false, endUs, current, level, endedUs, untilUs };
}

class StoredLock implements StoredCount {
  changed = false;
  private readonly state: LockState;
  private rule: LockRule;

  constructor(state: LockState, rule: LockRule) {
    this.state = state;
    this.rule = rule;
  }

  get expiresUs(): number {
    return lockExpiresUs(this.rule, this.state);
  }

  step(step: Step, nowUs: number, charge: boolean): LockAnswer {
    const { state } = this;
    const ask = step as Ask<LockRule>;
    this.rule = ask.rule;
    const allowed = stepLock(ask, state, nowUs, charge);
    const { endUs, current, untilUs } = state;
    if (state.dirty) this.changed = true;
    return { allowed, nowUs, endUs, current, untilUs };
  }

  text(): string {
    const { endUs, current, level, endedUs, untilUs } = this.state;
    return `${endUs}:${current}:${level}:${endedUs}:${untilUs}`;
  }
}
