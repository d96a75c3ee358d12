import type { LogEntry } from './log-entry.js';

const SECOND_US = 1_000_000;
/** At most this many requests of one second are spread. Further ones are decided at the end of the second. */
const MAX_HELD = 100_000;

/**
 * Spreads requests with whole-second stamps evenly over their second, by setting `spreadUs`. Requests must come in the
 * order of time.
 */
export async function* spreadSeconds(
  runs: AsyncIterable<readonly LogEntry[]>,
): AsyncGenerator<readonly LogEntry[]> {
  let held: LogEntry[] = [];
  for await (const run of runs) {
    const ready: LogEntry[] = [];
    for (const entry of run) {
      const isOther = held[0] !== undefined && held[0].timeUs !== entry.timeUs;
      if (isOther || !entry.isWholeSecond || held.length === MAX_HELD) {
        for (const one of spread(held)) ready.push(one);
        held = [];
      }
      if (entry.isWholeSecond) held.push(entry);
      else ready.push(entry);
    }
    if (ready.length > 0) yield ready;
  }
  yield spread(held);
}

function spread(held: readonly LogEntry[]): readonly LogEntry[] {
  for (const [at, entry] of held.entries()) {
    entry.spreadUs = entry.timeUs + Math.floor((at * SECOND_US) / held.length);
  }
  return held;
}
