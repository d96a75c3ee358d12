/** The formats of logs: by name, by a `log_format` string, or found out from lines. */

import { UsageError } from '../usage-error.js';
import { CLOUDFLARE, type FieldMap, jsonLines } from './json-lines.js';
import type { LogEntry } from './log-entry.js';
import { compileLogFormat } from './log-format.js';

/** Reads the lines of one format. */
export interface LineFormat {
  readonly name: string;
  /** The request that the bytes from `start` to `end` tell of; undefined if they are no line of this format. */
  parse(line: Buffer, start: number, end: number): LogEntry | undefined;
  /** Whether the line has all that the format names. */
  isFull(line: Buffer, start: number, end: number): boolean;
}

const COMMON = '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent';
const COMBINED = `${COMMON} "$http_referer" "$http_user_agent"`;

const MAKERS: Readonly<Record<string, (fields: FieldMap) => LineFormat>> = {
  combined: () => compileLogFormat('combined', COMBINED),
  common: () => compileLogFormat('common', COMMON),
  cloudflare: (fields) => jsonLines('cloudflare', { ...CLOUDFLARE, ...fields }, {}),
  json: (fields) => jsonLines('json', fields),
};

/**
 * The format that `--format` names, a `log_format` string if it has a `$`.
 *
 * @throws UsageError
 */
export function formatOf(text: string, fields: FieldMap): LineFormat {
  if (text.includes('$')) return compileLogFormat('log_format', text);
  const maker = MAKERS[text === 'nginx' ? 'combined' : text];
  if (maker) return maker(fields);
  const names = ['nginx', ...Object.keys(MAKERS)].join(', ');
  throw new UsageError(`format must be ${names}, or a log_format string such as '${COMMON}'`);
}

/** Finds out the format of lines: the one that reads most of them, and of those the one that reads more of each. */
export class FormatFinder {
  private readonly scores: { readonly format: LineFormat; read: number; full: number }[];

  constructor(fields: FieldMap) {
    const makers = Object.values(MAKERS);
    this.scores = makers.map((make) => ({ format: make(fields), read: 0, full: 0 }));
  }

  /** Whether some format reads the line. */
  look(line: Buffer): boolean {
    let isRead = false;
    for (const score of this.scores) {
      if (!score.format.parse(line, 0, line.length)) continue;
      isRead = true;
      score.read += 1;
      if (score.format.isFull(line, 0, line.length)) score.full += 1;
    }
    return isRead;
  }

  best(): LineFormat {
    const [first, ...others] = this.scores as [(typeof this.scores)[0], ...typeof this.scores];
    const isBetter = (a: typeof first, b: typeof first) =>
      a.read > b.read || (a.read === b.read && a.full > b.full);
    return others.reduce((best, score) => (isBetter(score, best) ? score : best), first).format;
  }
}
