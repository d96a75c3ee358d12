/** The output: when messages start in each half second, and at the end the totals of each partner. */

import { setTimeout as sleep } from 'node:timers/promises';
import { NAMES, PARTNERS } from './partners.js';

const COLUMN = 36;

export const ROW_MS = 500;

export class Report {
  messages = [];
  startMs = 0;
  rows = 0;

  begin() {
    this.startMs = performance.now();
    console.log(`   time  ${NAMES.map((name) => name.padEnd(COLUMN)).join('')}`.trimEnd());
  }

  note(message) {
    this.messages.push({ ...message, atMs: message.atMs - this.startMs });
  }

  /**
   * Waits until the next row has passed, and prints it: the worker of each message, and its milliseconds into the row.
   */
  async row() {
    const fromMs = this.rows * ROW_MS;
    this.rows += 1;
    const toMs = fromMs + ROW_MS;
    await sleep(this.startMs + toMs - performance.now());
    const shown = this.messages.filter(({ atMs }) => atMs >= fromMs && atMs < toMs);
    const cells = NAMES.map((name) =>
      shown
        .filter(({ partner }) => partner === name)
        .map(({ worker, atMs, isUrgent, isRejected }) => {
          const mark = (isUrgent ? '^' : '') + (isRejected ? '!' : '');
          return `${worker}+${Math.round(atMs - fromMs)}${mark}`;
        })
        .concat('') // ends with a space, also where the messages fill the column
        .join(' ')
        .padEnd(COLUMN),
    );
    console.log(`${(fromMs / 1000).toFixed(1).padStart(5)} s  ${cells.join('')}`.trimEnd());
  }

  say(text) {
    console.log(`-- ${text}`);
  }

  summary() {
    console.log('\nThe partners saw:');
    for (const name of NAMES) {
      const own = this.messages.filter(({ partner }) => partner === name);
      const rejected = own.filter(({ isRejected }) => isRejected).length;
      const most = Math.max(0, ...own.map(({ atOnce }) => atOnce));
      const { limit, maxConcurrent } = PARTNERS[name];
      console.log(
        `${name}: ${own.length - rejected} taken, ${rejected} rejected, at most ${most} at once (allows ${limit} a second, ${maxConcurrent} at once)`,
      );
    }
  }
}
