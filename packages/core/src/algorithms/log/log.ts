/**
 * The sliding window log; its steps are in log-step.ts.
 *
 * As text: the format mark `1`, then the entries. An entry is a space, the microseconds since the previous entry (or
 * since the epoch), a colon and the units. Example: `1 1767225600000000:2 5000:1`.
 */

import type { Ask } from '../../contract/ask.js';
import type { Numbers } from '../../contract/decision.js';
import type { LogAnswer, LogRule, Machine } from '../../contract/rule.js';
import { ratePolicy, windowOf } from '../decide.js';
import {
  isWritten,
  numbersOf,
  type TextForm,
  unknownFormat,
  wholeNumber,
} from '../stored-count.js';
import { Entries, eachEntry } from './log-entries.js';
import { LogShelf } from './log-shelf.js';
import { isAhead, stepLog } from './log-step.js';

export const logMachine: Machine = {
  same: (rule: LogRule, other: LogRule) => rule.windowUs === other.windowUs,
  share: ({ limit, windowUs }: LogRule, share) => makeLogRule(limit, windowOf(windowUs, share)),
  policy: (name, rule: LogRule) => ratePolicy(name, rule),
  declared: ({ limit, windowUs }: LogRule) => ({
    algorithm: 'sliding-window-log',
    limit,
    windowMs: windowUs / 1000,
  }),
  expiresAfterUs: ({ windowUs }: LogRule) => windowUs,
  measure: measureLog,
  receipt: ({ lastUs }: LogAnswer, units) => ({ atUs: lastUs, num: 0, units }),
  shelf: () => new LogShelf(),
  denials: {
    holdsMs({ limit }: LogRule, { used, retryAfterMs, resetMs }, cost) {
      // If entries expire before this cost passes, `used` changes at times that the answer doesn't contain.
      if (used + cost > limit + 1) return 0;
      // The store's answer changes when the log becomes empty, even for a cost that can never pass.
      return resetMs > 0 ? Math.min(retryAfterMs, resetMs) : retryAfterMs;
    },
    // The cost decides which entry must expire before a retry passes.
    isOfOneCost: true,
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

interface LogState {
  dirty: boolean;
  readonly entries: Entries;
}

export const logForm: TextForm<LogState> = {
  unused: () => ({ dirty: false, entries: new Entries() }),
  read: (text) => ({ dirty: false, entries: entriesOf(text) }),
  step(ask: Ask<LogRule>, state, nowUs, charge): LogAnswer {
    const { entries } = state;
    const { op, rule } = ask;
    const view = { used: 0, freesUs: 0, lastUs: 0 };
    entries.drop(entries.unitsUntil(nowUs - rule.windowUs));
    const mayGrow = entries.count < MOST_ENTRIES;
    const ahead = isAhead(rule, entries, nowUs);
    const allowed = stepLog(ask, entries, nowUs, charge, view, mayGrow);
    state.dirty = isWritten(ask, allowed || op === 'record', charge, ahead);
    return { allowed, nowUs, ...view };
  },
  expiresUs: ({ entries }, { windowUs }: LogRule) => entries.lastUs + windowUs,
  text({ entries }) {
    let text = '1';
    let before = 0;
    eachEntry(entries, (us, units) => {
      text += ` ${us - before}:${units}`;
      before = us;
    });
    return text;
  },
};

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
