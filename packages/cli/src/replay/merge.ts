import type { LogEntry } from './log-entry.js';
import type { Source } from './source.js';

interface Open {
  /** Of requests with equal stamps, the one whose source has the smaller rank comes first. */
  readonly rank: number;
  readonly rest: AsyncGenerator<readonly LogEntry[]>;
  batch: readonly LogEntry[];
  at: number;
}

/**
 * Merges logs in the order of time. Opens a file when its first request is due, so memory is needed only for files that
 * overlap in time.
 *
 * @param probe opens the same log again, to read only its first request
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
    let firstUs = -Infinity; // logs that can be read only once are opened first
    if (sources.length > 1 && source.bytes.isFile) firstUs = await firstStampUs(probe(source));
    stamped.push({ source, firstUs });
  }
  return stamped.sort((a, b) => (a.firstUs === b.firstUs ? 0 : a.firstUs - b.firstUs));
}

async function firstStampUs(source: Source): Promise<number> {
  for await (const [first] of source.requests()) if (first) return first.timeUs;
  return Infinity;
}

async function refill(source: Open, open: Open[]): Promise<void> {
  const { value, done } = await source.rest.next();
  if (done) return;
  source.batch = value;
  source.at = 0;
  insert(source, open);
}

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
