/** What is printed: where messages start in each half second, and in the end how even the pace was. */

import { setTimeout as sleep } from 'node:timers/promises';
import { LINES, PER_SECOND } from './lines.js';

const COLUMN = 26;

export const ROW_MS = 500;

export class Report {
  messages = [];
  startMs = 0;
  rows = 0;

  begin() {
    this.startMs = performance.now();
    console.log(`   time  ${LINES.map((line) => line.padEnd(COLUMN)).join('')}`.trimEnd());
  }

  note(message) {
    this.messages.push({ ...message, atMs: message.atMs - this.startMs });
  }

  /** Waits until the next row has passed, and prints it: which worker sent, and how many milliseconds into the row. */
  async row() {
    const fromMs = this.rows * ROW_MS;
    this.rows += 1;
    const toMs = fromMs + ROW_MS;
    await sleep(this.startMs + toMs - performance.now());
    const shown = this.messages.filter(({ atMs }) => atMs >= fromMs && atMs < toMs);
    const cells = LINES.map((line) =>
      shown
        .filter((message) => message.line === line)
        .map(
          ({ worker, atMs, isRejected }) =>
            `${worker}+${Math.round(atMs - fromMs)}${isRejected ? '!' : ''}`,
        )
        .join(' ')
        .padEnd(COLUMN),
    );
    console.log(`${(fromMs / 1000).toFixed(1).padStart(5)} s  ${cells.join('')}`.trimEnd());
  }

  say(text) {
    console.log(`-- ${text}`);
  }

  summary() {
    console.log(`\nA line takes a message each ${1000 / PER_SECOND} ms. The carriers saw:`);
    for (const line of LINES) {
      const own = this.messages.filter((message) => message.line === line);
      const rejected = own.filter(({ isRejected }) => isRejected).length;
      const gaps = own.slice(1).map(({ atMs }, at) => Math.round(atMs - own[at].atMs));
      gaps.sort((a, b) => a - b);
      const told =
        gaps.length > 0
          ? `, gaps: smallest ${gaps[0]} ms, median ${gaps[gaps.length >> 1]} ms`
          : '';
      console.log(`${line}: ${own.length - rejected} taken, ${rejected} rejected${told}`);
    }
  }
}
