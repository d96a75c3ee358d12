/** The logs of a store in memory, with a count of all their entries. */

import type { LogAnswer } from '../../contract/answer.js';
import type { Ask } from '../../contract/ask.js';
import type { LogRule } from '../../contract/rule.js';
import type { Shelf } from '../../contract/shelf.js';
import { type Expiring, KeyedStates } from '../shelves/keyed-states.js';
import { Entries } from './entries.js';
import { type LogView, stepLog } from './step.js';

class StoredLog extends Entries implements Expiring {
  expiresUs = 0;
}

export class LogShelf implements Shelf<LogRule, StoredLog> {
  readonly grows = true;
  private readonly states = new KeyedStates<StoredLog>();
  private readonly view: LogView = { used: 0, freesUs: 0, lastUs: 0 };
  private entries = 0;

  /** Entries of all logs. */
  get size(): number {
    return this.entries;
  }

  find({ limiter, rule, key }: Ask<LogRule>): StoredLog | undefined {
    return this.states.get(limiter, rule.code, key);
  }

  stepKept(ask: Ask<LogRule>, nowUs: number, charge: boolean): LogAnswer | undefined {
    const stored = this.find(ask);
    return stored && this.step(ask, nowUs, charge, true, stored);
  }

  /** A log that begins with `other` is kept only if the step charges. */
  step(
    { limiter, key, rule, op, cost, receipt }: Ask<LogRule>,
    nowUs: number,
    charge: boolean,
    mayGrow: boolean,
    stored?: StoredLog,
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

  restsAt({ windowUs }: LogRule, { lastUs }: LogAnswer): number {
    return lastUs + windowUs;
  }

  reclaim(nowUs: number): void {
    this.states.reclaim(nowUs, (log) => {
      this.entries -= log.count;
    });
  }
}
