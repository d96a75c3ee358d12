/**
 * The sliding window log; its steps are in log-step.ts.
 *
 * As text: the format mark `1`, then the entries. An entry is a space, the microseconds since the previous entry (or
 * since the epoch), a colon and the units. Example: `1 1767225600000000:2 5000:1`.
 */

import type { Ask } from '../../contract/ask.js';
import type { Numbers } from '../../contract/decision.js';
import type { LogAnswer, LogRule, Machine } from '../../contract/rule.js';
import type { Step } from '../../contract/store.js';
import { ratePolicy } from '../decide.js';
import {
  isWritten,
  numbersOf,
  type StoredCount,
  unknownFormat,
  wholeNumber,
} from '../stored-count.js';
import { Entries, eachEntry } from './log-entries.js';
import { LogShelf } from './log-shelf.js';
import { isAhead, stepLog } from './log-step.js';

export const logMachine: Machine = {
  same: (rule: LogRule, other: LogRule) => rule.windowUs === other.windowUs,
  capacity: ({ limit }: LogRule) => limit,
  share: ({ limit, windowUs }: LogRule, share) => makeLogRule(limit, Math.ceil(windowUs / share)),
  policy: (name, rule: LogRule) => ratePolicy(name, rule),
  declared: ({ limit, windowUs }: LogRule) => ({
    algorithm: 'sliding-window-log',
    limit,
    windowMs: windowUs / 1000,
  }),
  expiresAfterUs: ({ windowUs }: LogRule) => windowUs,
  measure: measureLog,
  receipt: ({ lastUs }: LogAnswer, units) => ({ atUs: lastUs, num: 0, units }),
  merges: true,
  shelf: () => new LogShelf(),
  denials: {
    holdsMs({ limit }: LogRule, { used, retryAfterMs, resetMs }, cost) {
      // If entries expire before this cost passes, `used` changes at times that the answer doesn't contain.
      if (used + cost > limit + 1) return 0;
      // The store's answer changes when the log becomes empty, even for a cost that can never pass.
      return resetMs > 0 ? Math.min(retryAfterMs, resetMs) : retryAfterMs;
    },
    /**
     * The cost decides which entry must expire before a retry passes, so a cached rejection applies to one cost only.
     */
    covers: (cost, kept) => cost === kept,
    write({ used, freesUs, lastUs }: LogAnswer, numbers, at) {
      numbers[at] = used;
      numbers[at + 1] = freesUs;
      numbers[at + 2] = lastUs;
    },
    read(_, numbers, at, nowUs): LogAnswer {
      const used = numbers[at] as number;
      const freesUs = numbers[at + 1] as number;
      return { allowed: false, nowUs, used, freesUs, lastUs: numbers[at + 2] as number };
    },
  },
};

export function makeLogRule(limit: number, windowUs: number): LogRule {
  const code = `l${windowUs.toString(36)}`;
  return { machine: 'log', logic: logMachine, code, limit, windowUs };
}

function measureLog(rule: LogRule, answer: LogAnswer, cost: number): Numbers {
  const { used, freesUs, lastUs, nowUs } = answer;
  let retryAfterMs = 0;
  if (cost > rule.limit) retryAfterMs = Infinity;
  else if (cost > 0 && freesUs >= 0) retryAfterMs = (freesUs + rule.windowUs - nowUs) / 1000;
  return {
    used,
    remaining: Math.max(0, rule.limit - used),
    retryAfterMs,
    resetMs: used > 0 ? (lastUs + rule.windowUs - nowUs) / 1000 : 0,
  };
}

/** The most entries in one text, because each step reads and writes the whole text. */
const MOST_ENTRIES = 10_000;
const ENTRY = /^(\d+):(\d+)$/;

export function readLog(text: string | undefined): StoredCount {
  return new StoredLog(text === undefined ? new Entries() : entriesOf(text));
}

function entriesOf(text: string): Entries {
  const [mark, ...words] = text.split(' ');
  if (mark !== '1') throw unknownFormat();
  const entries = new Entries();
  let us = 0;
  for (const word of words) {
    const [sinceUs = 0, units = 0] = numbersOf(word, ENTRY);
    us += sinceUs;
    if (us <= entries.lastUs || units === 0) throw unknownFormat();
    entries.add(wholeNumber(us), units);
  }
  wholeNumber(entries.total);
  return entries;
}

class StoredLog implements StoredCount {
  changed = false;
  expiresUs = 0;
  private readonly entries: Entries;

  constructor(entries: Entries) {
    this.entries = entries;
  }

  step(step: Step, nowUs: number, charge: boolean): LogAnswer {
    const { entries } = this;
    const ask = step as Ask<LogRule>;
    const { op, rule } = ask;
    const { windowUs } = rule;
    const view = { used: 0, freesUs: 0, lastUs: 0 };
    entries.drop(entries.unitsUntil(nowUs - windowUs));
    const mayGrow = entries.count < MOST_ENTRIES;
    const ahead = isAhead(rule, entries, nowUs);
    const allowed = stepLog(ask, entries, nowUs, charge, view, mayGrow);
    if (isWritten(ask, allowed || op === 'record', charge, ahead)) this.changed = true;
    this.expiresUs = entries.lastUs + windowUs;
    return { allowed, nowUs, ...view };
  }

  text(): string {
    let text = '1';
    let before = 0;
    eachEntry(this.entries, (us, units) => {
      text += ` ${us - before}:${units}`;
      before = us;
    });
    return text;
  }
}
