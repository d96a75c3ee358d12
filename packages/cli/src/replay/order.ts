import type { LogEntry } from './log-entry.js';

const MINUTE_US = 60_000_000;
const DAY_US = 86_400_000_000;
const SECOND_US = 1_000_000;

/**
 * Corrects stamps that are out of order. Logs have such stamps, because servers buffer lines and write a line when the
 * response has ended. A request with an earlier stamp is decided at the latest stamp so far, or left out if it is more
 * than a minute earlier. A request more than a day later is left out if the request after it goes back by more
 * than a day.
 */
export class Order {
  private readonly counts: { outOfOrder: number; notReplayed: number };
  private latestUs = -Infinity;
  private doubtful: LogEntry | undefined;

  constructor(counts: { outOfOrder: number; notReplayed: number }) {
    this.counts = counts;
  }

  /** Appends to `ordered` the requests whose order is now certain. */
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
      entry.isWholeSecond &&= this.latestUs % SECOND_US === 0;
    } else this.latestUs = entry.timeUs;
    ordered.push(entry);
  }

  private leaveOut(): void {
    this.counts.outOfOrder += 1;
    this.counts.notReplayed += 1;
  }
}
