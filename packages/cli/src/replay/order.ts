/** Makes the times of one log's requests ascend, if its stamps go back by at most a minute. */

import type { LogEntry } from './log-entry.js';

const MINUTE_US = 60_000_000;
const DAY_US = 86_400_000_000;

/**
 * Servers write a line when the response has ended, and buffer lines, so stamps may go back a little. A request with
 * such a stamp is decided at the latest stamp before it. A request that goes back by more than a minute is left out. A
 * line that is more than a day ahead is left out too, unless the next line confirms it. Otherwise one wrong stamp would
 * move all later requests to one instant.
 */
export class Order {
  private readonly counts: { outOfOrder: number; notReplayed: number };
  private latestUs = -Infinity;
  /** A request far ahead of the previous request. */
  private doubtful: LogEntry | undefined;

  constructor(counts: { outOfOrder: number; notReplayed: number }) {
    this.counts = counts;
  }

  /** Takes a request, and appends those that are now known to be in order. */
  put(entry: LogEntry, ordered: LogEntry[]): void {
    const { doubtful } = this;
    if (doubtful) {
      this.doubtful = undefined;
      if (entry.timeUs >= doubtful.timeUs - DAY_US) this.pass(doubtful, ordered);
      else this.leaveOut();
    }
    if (entry.timeUs > this.latestUs + DAY_US) this.doubtful = entry;
    else this.pass(entry, ordered);
  }

  end(ordered: LogEntry[]): void {
    if (this.doubtful) this.pass(this.doubtful, ordered);
    this.doubtful = undefined;
  }

  private pass(entry: LogEntry, ordered: LogEntry[]): void {
    if (entry.timeUs < this.latestUs - MINUTE_US) {
      this.leaveOut();
      return;
    }
    if (entry.timeUs < this.latestUs) {
      this.counts.outOfOrder += 1;
      entry.timeUs = this.latestUs;
      entry.spreadUs = this.latestUs;
    } else this.latestUs = entry.timeUs;
    ordered.push(entry);
  }

  private leaveOut(): void {
    this.counts.outOfOrder += 1;
    this.counts.notReplayed += 1;
  }
}
