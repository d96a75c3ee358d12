/** A request as a line of a log tells it, in the shape that limiters see. */

import type { LimitRequest } from '@spillway/core';
import { pathOf } from '@spillway/core/adapter';

/** Reads the lines of one format. */
export interface LineFormat {
  readonly name: string;
  /** The request that the bytes from `start` to `end` tell of; undefined if they are no line of this format. */
  parse(line: Buffer, start: number, end: number): LogEntry | undefined;
  /** What a line says of a variable, such as `http_referer`. */
  read(entry: LogEntry, name: string): string | undefined;
}

/** A request of a log: what a policy's functions are given, also as `raw`. */
export class LogEntry implements LimitRequest<LogEntry> {
  /** The stamp of the line, in microseconds since the epoch; that of an earlier line, if it was out of order. */
  timeUs: number;
  /** The status of the response; undefined where the log doesn't say it. */
  readonly status: number | undefined;
  readonly method: string;
  clientIp: string | undefined;
  /** When it is decided with the requests of a second evenly spread over it. */
  spreadUs: number;
  /** Whether the second of the stamp is all that is known of its time. */
  isWholeSecond = false;
  private readonly format: LineFormat;
  /** The line, for its format: bytes from `start` to `end`, or the parsed object. */
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

  /** A variable of the log's format, by nginx' name for it: `remote_user`; undefined where the line has none. */
  field(name: string): string | undefined {
    const value = this.format.read(this, name);
    return value === '-' || value === '' ? undefined : value;
  }
}

/** The target in `GET /path HTTP/1.1`. */
function targetIn(request = ''): string {
  return request.split(' ')[1] ?? '/';
}
