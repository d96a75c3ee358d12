/** The logs of a memory store. */

import { Entries } from '../algorithms/log/entries.js';
import { type LogView, stepLog } from '../algorithms/log/step.js';
import type { LogAnswer } from '../contract/answer.js';
import type { LogRule } from '../contract/rule.js';
import type { Step } from '../contract/store.js';
import { type Expiring, KeyedStates } from './keyed-states.js';

class StoredLog extends Entries implements Expiring {
  expiresUs = 0;
}

export class LogShelf {
  private readonly states = new KeyedStates<StoredLog>();
  private readonly view: LogView = { used: 0, freesUs: 0, lastUs: 0 };
  private entries = 0;

  /** Entries of all logs. */
  get size(): number {
    return this.entries;
  }

  get({ limiter, rule }: Step, key: string): StoredLog | undefined {
    return this.states.get(limiter, rule.code, key);
  }

  /**
   * Applies `step` to the log under `key`, which was found as `stored`. If there is none, begins with `other`, and
   * keeps the result if the step charges. `mayGrow` as for {@link stepLog}.
   */
  step(
    { limiter, op, cost, receipt }: Step,
    rule: LogRule,
    key: string,
    nowUs: number,
    charge: boolean,
    mayGrow: boolean,
    stored: StoredLog | undefined,
    other?: StoredLog,
  ): LogAnswer {
    const state = stored ?? new StoredLog();
    if (!stored && other) state.copy(other);
    const before = stored ? stored.count : 0;
    const allowed = stepLog(rule, state, op, cost, nowUs, charge, this.view, receipt, mayGrow);
    if (state.count > 0) state.expiresUs = state.lastUs + rule.windowUs;
    const charges = op === 'record' || op === 'put' || (op === 'take' && charge);
    if (stored || (charges && (allowed || op === 'record') && cost > 0)) {
      this.entries += state.count - before;
      if (state.count === 0) this.states.delete(limiter, rule.code, key);
      else if (!stored) this.states.set(limiter, rule.code, key, state);
    }
    const { used, freesUs, lastUs } = this.view;
    return { allowed, nowUs, used, freesUs, lastUs };
  }

  reclaim(nowUs: number): void {
    this.states.reclaim(nowUs, (log) => {
      this.entries -= log.count;
    });
  }
}
