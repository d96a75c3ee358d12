import { canonicalAddress } from '@spillway/core';
import { type Addressing, clientOf } from '@spillway/core/adapter';
import type { Bytes } from './bytes.js';
import { FormatFinder, formatOf } from './formats.js';
import type { FieldMap } from './json-lines.js';
import { Lines, MAX_LINE_BYTES } from './lines.js';
import type { LineFormat, LogEntry } from './log-entry.js';
import { Order } from './order.js';
import type { LogReport } from './report.js';

/** This many lines are used to detect the format, and to find out whether stamps are whole seconds. */
const SAMPLE_LINES = 100;
const SHOWN_LINES = 3;
const SHOWN_CHARACTERS = 120;
const SECOND_US = 1_000_000;

type LogCounts = { -readonly [Name in keyof LogReport]: LogReport[Name] };

export interface SourceOptions {
  readonly format?: string | undefined;
  readonly fields: FieldMap;
  readonly addressing: Addressing | undefined;
  readonly onBytes: (count: number) => void;
}

export class Source {
  readonly counts: LogCounts;
  readonly bytes: Bytes;
  private readonly options: SourceOptions;
  private format: LineFormat | undefined;
  private readonly finder: FormatFinder | undefined;
  private sample: Buffer[] = [];
  private seenLines = 0;
  private readonly order: Order;
  private batch: LogEntry[] = [];

  constructor(bytes: Bytes, options: SourceOptions) {
    const { format, fields } = options;
    this.bytes = bytes;
    this.options = options;
    this.counts = {
      name: bytes.name,
      format: null,
      requests: 0,
      unparsed: 0,
      outOfOrder: 0,
      notReplayed: 0,
      wholeSeconds: false,
      unparsedLines: [],
      damage: null,
    };
    this.order = new Order(this.counts);
    if (format === undefined) this.finder = new FormatFinder(fields);
    else this.format = formatOf(format, fields);
  }

  async *requests(): AsyncGenerator<readonly LogEntry[]> {
    const lines = new Lines((bytes, start, end) => this.take(bytes, start, end));
    const onDamage = (why: string): void => {
      this.counts.damage = why;
    };
    for await (const chunk of this.bytes.read(this.options.onBytes, onDamage)) {
      lines.push(chunk);
      if (this.batch.length > 0) yield this.taken();
    }
    lines.flush();
    if (this.sample.length > 0) this.begin();
    this.order.end(this.batch);
    if (this.batch.length > 0) yield this.taken();
  }

  private taken(): readonly LogEntry[] {
    const { batch } = this;
    this.batch = [];
    return batch;
  }

  private take(bytes: Buffer, start: number, end: number): void {
    if (end - start > MAX_LINE_BYTES) {
      this.reject(bytes, start, end);
      return;
    }
    if (this.seenLines >= SAMPLE_LINES) {
      this.parse(bytes, start, end);
      return;
    }
    // Copied, because the first lines could otherwise keep many chunks in memory.
    const line = Buffer.from(bytes.subarray(start, end));
    const isRead = this.format?.parse(line, 0, line.length) ?? this.finder?.look(line);
    // Lines before the first readable line are not sampled, because a log may begin with the rest of a long line.
    if (!isRead && this.sample.length === 0) this.reject(line, 0, line.length);
    else this.sample.push(line);
    if (this.sample.length > 0) this.seenLines += 1;
    if (this.seenLines === SAMPLE_LINES) this.begin();
  }

  private begin(): void {
    const { counts, sample } = this;
    const format = this.format ?? (this.finder as FormatFinder).best();
    this.format = format;
    this.sample = [];
    counts.format = format.name;
    counts.wholeSeconds = sample.every((line) => {
      const entry = format.parse(line, 0, line.length);
      return !entry || entry.timeUs % SECOND_US === 0;
    });
    for (const line of sample) this.parse(line, 0, line.length);
  }

  private parse(bytes: Buffer, start: number, end: number): void {
    const entry = this.format?.parse(bytes, start, end);
    if (!entry) {
      this.reject(bytes, start, end);
      return;
    }
    this.counts.requests += 1;
    const { addressing } = this.options;
    const address = withoutPort(entry.clientIp);
    // The log may contain names in place of addresses. They distinguish callers as well.
    entry.clientIp = addressing
      ? clientOf(addressing, address, entry)
      : (canonicalAddress(address) ?? entry.field('remote_addr'));
    entry.isWholeSecond = this.counts.wholeSeconds && entry.timeUs % SECOND_US === 0;
    this.order.put(entry, this.batch);
  }

  private reject(bytes: Buffer, start: number, end: number): void {
    const { counts } = this;
    counts.unparsed += 1;
    if (counts.unparsedLines.length >= SHOWN_LINES) return;
    const shown = bytes.toString('utf8', start, Math.min(end, start + SHOWN_CHARACTERS));
    counts.unparsedLines = [...counts.unparsedLines, shown];
  }
}

/**
 * Envoy and others write a port after an address: `203.0.113.7:443`, `[2001:db8::1]:443`. IPv6 without brackets has no
 * port.
 */
function withoutPort(address = ''): string {
  if (!address.includes(':')) return address;
  const [, v6, other] = /^(?:\[(.*)\]|([^:]*))(?::\d+)?$/.exec(address) ?? [];
  return v6 ?? other ?? address;
}
