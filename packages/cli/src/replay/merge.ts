/** The requests of several logs as one stream in the order of time: rotated files, or those of several servers. */

import type { LogEntry } from './log-entry.js';
import type { Source } from './source.js';

/** A source that is open, and where it is. */
interface Open {
  /** Of requests with one stamp, those of the source with the smaller rank come first, wherever chunks end. */
  readonly rank: number;
  readonly rest: AsyncGenerator<readonly LogEntry[]>;
  batch: readonly LogEntry[];
  at: number;
}

/**
 * Yields runs of requests. A file is opened when its first request is due, so many files need no more memory than those
 * that overlap.
 *
 * @param probe the same log again: asked for the first request only
 */
export async function* merged(
  sources: readonly Source[],
  probe: (source: Source) => Source,
): AsyncGenerator<readonly LogEntry[]> {
  const waiting = await byFirstStamp(sources, probe);
  const open: Open[] = [];
  for (let rank = 0; ; ) {
    const [first, second] = open;
    const due = waiting[rank];
    if (due && due.firstUs <= headUs(first)) {
      await refill({ rank, rest: due.source.requests(), batch: [], at: 0 }, open);
      rank += 1;
      continue;
    }
    if (!first) return;
    const from = first.at;
    const isNext = (): boolean =>
      headUs(first) < (due?.firstUs ?? Infinity) && (!second || isBefore(first, second));
    do first.at += 1;
    while (first.at < first.batch.length && isNext());
    yield first.batch.slice(from, first.at);
    open.shift();
    if (first.at < first.batch.length) insert(first, open);
    else await refill(first, open);
  }
}

async function byFirstStamp(
  sources: readonly Source[],
  probe: (source: Source) => Source,
): Promise<{ readonly source: Source; readonly firstUs: number }[]> {
  const stamped = [];
  for (const source of sources) {
    let firstUs = -Infinity; // what can be read only once is read at once
    if (sources.length > 1 && source.bytes.isFile) firstUs = await firstStampUs(probe(source));
    stamped.push({ source, firstUs });
  }
  return stamped.sort((a, b) => (a.firstUs === b.firstUs ? 0 : a.firstUs - b.firstUs));
}

async function firstStampUs(source: Source): Promise<number> {
  for await (const [first] of source.requests()) if (first) return first.timeUs;
  return Infinity;
}

/** Puts the source back with its next requests; it is done if there are none. */
async function refill(source: Open, open: Open[]): Promise<void> {
  const { value, done } = await source.rest.next();
  if (done) return;
  source.batch = value;
  source.at = 0;
  insert(source, open);
}

/** Keeps the sources sorted by their next request. */
function insert(source: Open, open: Open[]): void {
  const place = open.findIndex((other) => isBefore(source, other));
  open.splice(place < 0 ? open.length : place, 0, source);
}

function isBefore(a: Open, b: Open): boolean {
  return headUs(a) < headUs(b) || (headUs(a) === headUs(b) && a.rank < b.rank);
}

function headUs(source: Open | undefined): number {
  return source?.batch[source.at]?.timeUs ?? Infinity;
}
