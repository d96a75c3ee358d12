/** What a log is to its steps: units by instant, oldest first. */

export interface LogEntries {
  /** Units of all entries. */
  readonly total: number;
  /** Entries kept; some may have no units left. */
  readonly count: number;
  /** The newest instant; -Infinity if there is none. */
  readonly lastUs: number;
  /** Units at or before `us`. */
  unitsUntil(us: number): number;
  /** The instant of the entry that holds the `unit`-th of all units, counted from 1. */
  instantOf(unit: number): number;
  /** Adds units at `us`, or at the newest instant if that is later. */
  add(us: number, units: number): void;
  /** Adds units to the newest entry and moves it to `us`. There must be an entry. */
  absorb(us: number, units: number): void;
  /** Takes away at most `units` of what was added at exactly `us`. Returns how many it took. */
  takeBack(us: number, units: number): number;
  /** Drops the oldest `units`. The last entry that it reaches keeps the rest of its units. */
  drop(units: number): void;
  clear(): void;
}

/** Tells each instant and its units, oldest first. */
export function eachEntry(log: LogEntries, tell: (us: number, units: number) => void): void {
  let told = 0;
  while (told < log.total) {
    const us = log.instantOf(told + 1);
    const until = log.unitsUntil(us);
    tell(us, until - told);
    told = until;
  }
}
