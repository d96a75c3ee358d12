import type { LimitRequest } from '@spillway/core';
import { pathOf } from '@spillway/core/adapter';

export interface LineFormat {
  readonly name: string;
  parse(line: Buffer, start: number, end: number): LogEntry | undefined;
  read(entry: LogEntry, name: string): string | undefined;
}

/** A request of a log. The functions of a policy get this entry as their request. Its `raw` is the entry itself. */
export class LogEntry implements LimitRequest<LogEntry> {
  /**
   * The stamp of the line, in microseconds since the epoch. If an earlier line has a later stamp, this is the latest
   * stamp of the earlier lines.
   */
  timeUs: number;
  /** The status of the response; undefined if it is not in the log. */
  readonly status: number | undefined;
  readonly method: string;
  clientIp: string | undefined;
  /** The time of the request if all requests with the same whole-second stamp are spread evenly over that second. */
  spreadUs: number;
  isWholeSecond = false;
  private readonly format: LineFormat;
  /** A buffer with the bytes of the line from `start` to `end`, or the parsed JSON object. */
  readonly line: unknown;
  readonly start: number;
  readonly end: number;

  constructor(
    format: LineFormat,
    timeUs: number,
    clientIp: string | undefined,
    status: number | undefined,
    method: string,
    line: unknown,
    start = 0,
    end = 0,
  ) {
    this.format = format;
    this.timeUs = timeUs;
    this.spreadUs = timeUs;
    this.clientIp = clientIp;
    this.status = status;
    this.method = method;
    this.line = line;
    this.start = start;
    this.end = end;
  }

  get path(): string {
    return pathOf(
      this.field('request_uri') ?? this.field('uri') ?? targetIn(this.field('request')),
    );
  }

  get raw(): this {
    return this;
  }

  header(name: string): string | undefined {
    return this.field(`http_${name.toLowerCase().replaceAll('-', '_')}`);
  }

  /** Returns the value of an nginx variable such as `remote_user`; undefined if the line has no value for it. */
  field(name: string): string | undefined {
    const value = this.format.read(this, name);
    return value === '-' || value === '' ? undefined : value;
  }
}

function targetIn(request = ''): string {
  return request.split(' ')[1] ?? '/';
}
