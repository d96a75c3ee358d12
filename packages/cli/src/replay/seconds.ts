/** Times the requests of a second whose stamps say no more: all at its start, and evenly spread over it. */

import type { LogEntry } from './log-entry.js';

const SECOND_US = 1_000_000;
/** So many requests of a second are held at once. Those beyond come at its end. */
const MAX_HELD = 100_000;

/** Decides on a request at both timings; a promise where it needs one. */
export type Decide = (
  entry: LogEntry,
  startUs: number,
  spreadUs: number,
) => Promise<void> | undefined;

export class Seconds {
  private held: LogEntry[] = [];
  private readonly decide: Decide;

  constructor(decide: Decide) {
    this.decide = decide;
  }

  /** Requests must come in the order of time. */
  put(entry: LogEntry): Promise<void> | undefined {
    const [first] = this.held;
    const isSame = first === undefined || first.timeUs === entry.timeUs;
    if (entry.isWholeSecond && isSame && this.held.length < MAX_HELD) {
      this.held.push(entry);
      return undefined;
    }
    const flushed = this.flush();
    return flushed ? flushed.then(() => this.begin(entry)) : this.begin(entry);
  }

  /** Call it at the end. */
  flush(): Promise<void> | undefined {
    const { held } = this;
    this.held = [];
    const end = held.length;
    for (let at = 0; at < end; at += 1) {
      const later = this.decideHeld(held, at);
      if (later) return this.flushLater(held, at + 1, later);
    }
    return undefined;
  }

  private async flushLater(
    held: readonly LogEntry[],
    from: number,
    first: Promise<void>,
  ): Promise<void> {
    await first;
    for (let at = from; at < held.length; at += 1) await this.decideHeld(held, at);
  }

  private decideHeld(held: readonly LogEntry[], at: number): Promise<void> | undefined {
    const entry = held[at] as LogEntry;
    const spreadUs = entry.timeUs + Math.floor((at * SECOND_US) / held.length);
    return this.decide(entry, entry.timeUs, spreadUs);
  }

  private begin(entry: LogEntry): Promise<void> | undefined {
    if (!entry.isWholeSecond) return this.decide(entry, entry.timeUs, entry.timeUs);
    this.held = [entry];
    return undefined;
  }
}
