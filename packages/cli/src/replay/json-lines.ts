import { type LineFormat, LogEntry } from './log-entry.js';
import { stampUs } from './stamps.js';

/**
 * For each nginx variable, the path of its value in a JSON object: names of members, joined by dots, as in
 * `request.remote_ip`.
 */
export type FieldMap = Readonly<Record<string, string>>;

type Usual = Readonly<Record<string, readonly string[]>>;

/** The fields of the Cloudflare Logpush dataset "HTTP requests". */
export const CLOUDFLARE: FieldMap = {
  remote_addr: 'ClientIP',
  time: 'EdgeStartTimestamp',
  request_method: 'ClientRequestMethod',
  request_uri: 'ClientRequestURI',
  uri: 'ClientRequestPath',
  status: 'EdgeResponseStatus',
  http_user_agent: 'ClientRequestUserAgent',
  http_referer: 'ClientRequestReferer',
  http_host: 'ClientRequestHost',
};

/**
 * The usual names of each field, in logs of nginx, Caddy, Traefik, Envoy, pino and others. A name such as `req.url`
 * matches a member with this name, or the member `url` of the object `req`.
 */
const USUAL: Usual = {
  remote_addr: [
    ...['remote_addr', 'client_ip', 'clientIp', 'remote_ip', 'ip', 'ClientHost', 'remoteAddress'],
    ...['request.client_ip', 'request.remote_ip', 'req.remoteAddress', 'downstream_remote_address'],
  ],
  time: [
    'time',
    'timestamp',
    '@timestamp',
    'ts',
    'time_iso8601',
    'time_local',
    'msec',
    'start_time',
  ],
  request_method: ['request_method', 'method', 'request.method', 'req.method', 'RequestMethod'],
  request_uri: ['request_uri', 'uri', 'url', 'path', 'request.uri', 'req.url', 'RequestPath'],
  request: ['request'],
  status: [
    'status',
    'status_code',
    'statusCode',
    'res.statusCode',
    'DownstreamStatus',
    'response_code',
  ],
  http_user_agent: ['http_user_agent', 'user_agent', 'userAgent', 'request.headers.User-Agent'],
};

export function jsonLines(name: string, fields: FieldMap, usual: Usual = USUAL): LineFormat {
  return new JsonLines(name, fields, usual);
}

class JsonLines implements LineFormat {
  readonly name: string;
  private readonly paths: ReadonlyMap<string, readonly string[]>;

  constructor(name: string, fields: FieldMap, usual: Usual) {
    this.name = name;
    const own = Object.entries(fields).map(([field, path]) => [field, [path]] as const);
    this.paths = new Map<string, readonly string[]>([...Object.entries(usual), ...own]);
  }

  parse(line: Buffer, start: number, end: number): LogEntry | undefined {
    const object = objectIn(line, start, end);
    if (!object) return undefined;
    const timeUs = stampUs(this.find(object, 'time'));
    const address = this.find(object, 'remote_addr');
    if (Number.isNaN(timeUs) || typeof address !== 'string') return undefined;
    const status = Number(this.find(object, 'status'));
    const method = this.find(object, 'request_method') ?? this.find(object, 'request');
    return new LogEntry(
      this,
      timeUs,
      address,
      status >= 100 && status <= 999 ? status : undefined,
      typeof method === 'string' ? (method.split(' ', 1)[0] as string).toUpperCase() : '',
      object,
    );
  }

  read({ line }: LogEntry, name: string): string | undefined {
    const value = this.paths.has(name) ? this.find(line, name) : at(line, name);
    return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
  }

  private find(object: unknown, field: string): unknown {
    for (const path of this.paths.get(field) ?? []) {
      const value = at(object, path);
      if (value !== undefined && value !== null && typeof value !== 'object') return value;
    }
    return undefined;
  }
}

function objectIn(line: Buffer, start: number, end: number): object | undefined {
  if (line[start] !== 123) return undefined;
  try {
    return JSON.parse(line.toString('utf8', start, end)) as object;
  } catch {
    return undefined;
  }
}

function at(object: unknown, path: string): unknown {
  const members = object as Readonly<Record<string, unknown>>;
  if (Object.hasOwn(members, path)) return members[path];
  const dot = path.indexOf('.');
  if (dot < 0) return undefined;
  const inner = Object.hasOwn(members, path.slice(0, dot))
    ? members[path.slice(0, dot)]
    : undefined;
  return typeof inner === 'object' && inner !== null ? at(inner, path.slice(dot + 1)) : undefined;
}
