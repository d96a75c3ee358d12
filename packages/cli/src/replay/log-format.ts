import { UsageError } from '../usage-error.js';
import { type LineFormat, LogEntry } from './log-entry.js';
import { stampUs } from './stamps.js';

/** The variables that contain the time of a request, in order of preference. */
const TIMES = ['msec', 'time_iso8601', 'time_local', 'time'];
const NUMBER = /(bytes_sent|length|status|request_time)$/;
const VARIABLE = /\$(?:\{(\w+)\}|(\w+))/;
const [BACKSLASH, QUOTE, SPACE] = [92, 34, 32];

/**
 * Compiles a `log_format`. In a line, the value of a variable ends where the format's next literal text begins. A line
 * is not a request if it lacks one of these texts, or continues after the end of the format.
 *
 * @throws UsageError if there is no text between two variables, or if the client or the time is missing
 */
export function compileLogFormat(name: string, format: string): LineFormat {
  const [first = '', ...parts] = format.split(VARIABLE);
  // The split has three parts for each variable: its name, in one of two groups, and the text after it.
  const names: string[] = [];
  const gaps: string[] = [];
  for (let at = 0; at + 2 < parts.length; at += 3) {
    names.push(parts[at] ?? (parts[at + 1] as string));
    gaps.push(parts[at + 2] as string);
  }
  const touching = gaps.findIndex((gap, at) => gap === '' && at < gaps.length - 1);
  if (touching >= 0) {
    const pair = `$${names[touching]}$${names[touching + 1]}`;
    throw new UsageError(`nothing stands between ${pair} in the format: where would one end?`);
  }
  return new LogFormat(
    name,
    names,
    [first, ...gaps].map((gap) => Buffer.from(gap)),
  );
}

class LogFormat implements LineFormat {
  readonly name: string;
  private readonly names: readonly string[];
  private readonly gaps: readonly Buffer[];
  private readonly spans: Int32Array;
  /** Whether the last variable is a number. Then a space in its value shows that the line has another format. */
  private readonly endsInNumber: boolean;
  private readonly address: number;
  private readonly time: number;
  private readonly request: number;
  private readonly status: number;
  /** Cached, because many lines of a busy second have the same stamp. */
  private latestStamp = '';
  private latestUs = Number.NaN;

  constructor(name: string, names: readonly string[], gaps: readonly Buffer[]) {
    this.name = name;
    this.names = names;
    this.gaps = gaps;
    this.spans = new Int32Array(2 * names.length);
    this.address = names.indexOf('remote_addr');
    this.time = names.indexOf(TIMES.find((time) => names.includes(time)) ?? '');
    this.status = names.indexOf('status');
    const method = names.indexOf('request_method');
    this.request = method < 0 ? names.indexOf('request') : method;
    if (this.address < 0) throw new UsageError('the format must have $remote_addr');
    if (this.time < 0)
      throw new UsageError('the format must have $time_local, $time_iso8601 or $msec');
    this.endsInNumber = gaps.at(-1)?.length === 0 && NUMBER.test(names.at(-1) ?? '');
  }

  parse(line: Buffer, start: number, end: number): LogEntry | undefined {
    const { spans } = this;
    if (!this.scan(line, start, end)) return undefined;
    const text = (place: number): string =>
      line.toString('latin1', spans[2 * place] as number, spans[2 * place + 1] as number);
    const stamp = text(this.time);
    if (stamp !== this.latestStamp) {
      this.latestStamp = stamp;
      this.latestUs = stampUs(stamp);
    }
    const status = this.status < 0 ? undefined : statusIn(line, spans[2 * this.status] as number);
    if (Number.isNaN(this.latestUs) || Number.isNaN(status)) return undefined;
    const method = this.request < 0 ? '' : this.methodIn(line);
    const address = text(this.address);
    return new LogEntry(this, this.latestUs, address, status, method, line, start, end);
  }

  read({ line, start, end }: LogEntry, name: string): string | undefined {
    const place = this.names.indexOf(name);
    if (place < 0 || !this.scan(line as Buffer, start, end)) return undefined;
    return (line as Buffer).toString(
      'utf8',
      this.spans[2 * place] ?? 0,
      this.spans[2 * place + 1] ?? 0,
    );
  }

  private scan(line: Buffer, start: number, end: number): boolean {
    const { gaps, spans } = this;
    const first = gaps[0] as Buffer;
    if (!isAt(line, start, end, first)) return false;
    let at = start + first.length;
    for (let place = 0; place < this.names.length; place += 1) {
      const gap = gaps[place + 1] as Buffer;
      const stop = gap.length === 0 ? end : indexOf(line, at, end, gap);
      if (stop < 0) return false;
      spans[2 * place] = at;
      spans[2 * place + 1] = stop;
      at = stop + gap.length;
    }
    const last = spans[spans.length - 2] as number;
    return at === end && !(this.endsInNumber && line.subarray(last, end).includes(SPACE));
  }

  private methodIn(line: Buffer): string {
    const from = this.spans[2 * this.request] as number;
    const to = this.spans[2 * this.request + 1] as number;
    let end = from;
    while (end < to && line[end] !== SPACE) end += 1;
    for (let at = from; at < end; at += 1) {
      const byte = line[at] as number;
      if (byte < 65 || byte > 90) return '';
    }
    return line.toString('latin1', from, end);
  }
}

/** Returns undefined for `-`, and NaN for a text that does not begin with three digits. */
function statusIn(line: Buffer, at: number): number | undefined {
  if (line[at] === 45) return undefined;
  const [a = 0, b = 0, c = 0] = [line[at], line[at + 1], line[at + 2]];
  const isNumber = a >= 48 && a <= 57 && b >= 48 && b <= 57 && c >= 48 && c <= 57;
  return isNumber ? a * 100 + b * 10 + c - 5328 : Number.NaN;
}

/** Finds the text after a variable. Skips each `\"`, because Apache writes a quote within a value like this. */
function indexOf(line: Buffer, from: number, end: number, text: Buffer): number {
  const first = text[0];
  for (let at = from; at < end; at += 1) {
    const byte = line[at];
    if (byte === first && isAt(line, at, end, text)) return at;
    if (byte === BACKSLASH && first === QUOTE) at += 1;
  }
  return -1;
}

function isAt(line: Buffer, at: number, end: number, text: Buffer): boolean {
  if (at + text.length > end) return false;
  for (let i = 0; i < text.length; i += 1) if (line[at + i] !== text[i]) return false;
  return true;
}
