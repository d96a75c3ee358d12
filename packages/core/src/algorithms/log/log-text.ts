/**
 * A log as stored text: the format mark `1`, then the entries. An entry is a space, the microseconds since the previous
 * entry (or since the epoch), a colon and the units. Example: `1 1767225600000000:2 5000:1`.
 */

import type { Ask, LogAnswer } from '../../contract/ask.js';
import type { LogRule } from '../../contract/rule.js';
import type { Step } from '../../contract/store.js';
import {
  isWritten,
  numbersOf,
  type StoredCount,
  unknownFormat,
  wholeNumber,
} from '../stored-count.js';
import { Entries, eachEntry } from './log-entries.js';
import { isAhead, stepLog } from './log-step.js';

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
