import { UsageError } from '../usage-error.js';
import { CLOUDFLARE, type FieldMap, jsonLines } from './json-lines.js';
import type { LineFormat } from './log-entry.js';
import { compileLogFormat } from './log-format.js';

const COMMON = '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent';
const COMBINED = `${COMMON} "$http_referer" "$http_user_agent"`;

const MAKERS: Readonly<Record<string, (fields: FieldMap) => LineFormat>> = {
  combined: () => compileLogFormat('combined', COMBINED),
  'combined-and-more': () => compileLogFormat('combined-and-more', `${COMBINED} $more`),
  common: () => compileLogFormat('common', COMMON),
  cloudflare: (fields) => jsonLines('cloudflare', { ...CLOUDFLARE, ...fields }, {}),
  json: (fields) => jsonLines('json', fields),
};

/**
 * Finds a format by name, or compiles a `log_format` string, which contains a `$`.
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

export class FormatFinder {
  private readonly scores: { readonly format: LineFormat; read: number }[];

  constructor(fields: FieldMap) {
    this.scores = Object.values(MAKERS).map((make) => ({ format: make(fields), read: 0 }));
  }

  look(line: Buffer): boolean {
    let isRead = false;
    for (const score of this.scores) {
      if (!score.format.parse(line, 0, line.length)) continue;
      isRead = true;
      score.read += 1;
    }
    return isRead;
  }

  best(): LineFormat {
    const most = Math.max(...this.scores.map(({ read }) => read));
    return (this.scores.find(({ read }) => read === most) as { format: LineFormat }).format;
  }
}
