import { parseHttpDate, parseList } from './http-grammar.js';

export interface ResponseHeaders {
  get(name: string): string | null;
}

export interface Remaining {
  /** The name of the limit. It is only used to find the same limit in the next response. */
  readonly name: string;
  readonly units: number;
  /** Seconds until the limit is reset: from 0, possibly Infinity. */
  readonly seconds: number;
  /** {@link seconds} was rounded, and may be too large by this number. */
  readonly excess: number;
  /** The total units of the limit, if the response has only one limit and states its total. */
  readonly limit?: number | undefined;
}

/** Longer headers are ignored, because no server needs them and reading takes time. */
const MAX_LENGTH = 4096;

/**
 * Returns a reader of headers. It trims values, because Node.js keeps white space at their end (RFC 9110, 5.5). It
 * never throws, even if the response of a custom `fetch` has no headers.
 */
export function safeHeaders(headers: unknown): ResponseHeaders {
  return {
    get(name) {
      try {
        const value: unknown = (headers as ResponseHeaders).get(name);
        return typeof value === 'string' ? value.trim() : null;
      } catch {
        return null;
      }
    },
  };
}

/**
 * The wait in milliseconds that `retry-after-ms` states, or else `Retry-After`. Infinity if the number is too large for
 * JavaScript; undefined without a valid header.
 */
export function retryAfterMs(headers: ResponseHeaders, nowMs: number): number | undefined {
  // A nonstandard header of servers whose limits are shorter than a second, sometimes with decimals.
  const ms = headers.get('retry-after-ms');
  if (ms !== null && /^\d+(?:\.\d+)?$/.test(ms)) return Number(ms);
  const text = headers.get('retry-after');
  if (text === null) return undefined;
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  const instant = parseHttpDate(text, nowMs);
  return instant === undefined ? undefined : Math.max(0, instant - serverTimeMs(headers, nowMs));
}

/**
 * The time of the server's clock, which the dates in its headers refer to; our time without a `Date` header. The two
 * can differ by minutes.
 */
function serverTimeMs(headers: ResponseHeaders, nowMs: number): number {
  return parseHttpDate(headers.get('date') ?? '', nowMs) ?? nowMs;
}

export function readRemaining(
  headers: ResponseHeaders,
  nowMs: number,
  withX: boolean,
): readonly Remaining[] {
  // The headers of a cached response are as old as the response.
  if (Number(headers.get('age') ?? 0) > 0) return [];
  const field = headers.get('ratelimit');
  if (field !== null && field.length <= MAX_LENGTH) {
    const list = readList(field);
    if (list?.length === 1) return [{ ...(list[0] as Remaining), limit: onlyQuota(headers) }];
    const found = list ?? readDictionary(field);
    if (found) return found;
  }
  return readSeparateHeaders(headers, nowMs, withX);
}

/**
 * The quota that `RateLimit-Policy` states, if it has only one policy. With several policies, it is unknown which one
 * the remaining units belong to, because the two headers can name the same limit differently.
 */
function onlyQuota(headers: ResponseHeaders): number | undefined {
  const field = headers.get('ratelimit-policy');
  const [policy, more] = (field !== null && field.length <= MAX_LENGTH && parseList(field)) || [];
  return more ? undefined : integerOf(policy?.parameters.get('q'));
}

/**
 * Reads the header of drafts 8 to 11, such as `"burst";r=7;t=1, "hour";r=4100;t=1875`. Items without `r` or `t` are
 * ignored, because they don't state units and a time.
 */
function readList(field: string): readonly Remaining[] | undefined {
  return parseList(field)?.flatMap(({ name, parameters }) => {
    const units = integerOf(parameters.get('r'));
    const seconds = integerOf(parameters.get('t'));
    return units === undefined || seconds === undefined
      ? []
      : [{ name, units, seconds, excess: 1 }];
  });
}

/** Draft 7: `limit=100, remaining=50, reset=30`. */
function readDictionary(field: string): readonly Remaining[] | undefined {
  const units = integerOf(/(?:^|,)[ \t]*remaining=(\d+)[ \t]*(?:,|$)/.exec(field)?.[1]);
  const seconds = integerOf(/(?:^|,)[ \t]*reset=(\d+)[ \t]*(?:,|$)/.exec(field)?.[1]);
  return onlyLimit(units, seconds, integerOf(/(?:^|,)[ \t]*limit=(\d+)/.exec(field)?.[1]));
}

/**
 * Reads the headers of draft 6, whose reset is in seconds from now, or else `X-RateLimit-*`, whose reset can be a date.
 */
function readSeparateHeaders(
  headers: ResponseHeaders,
  nowMs: number,
  withX: boolean,
): readonly Remaining[] {
  const standard = onlyLimit(
    integerOf(headers.get('ratelimit-remaining')),
    integerOf(headers.get('ratelimit-reset')),
    integerOf(headers.get('ratelimit-limit')),
  );
  if (standard || !withX) return standard ?? [];
  const units = integerOf(headers.get('x-ratelimit-remaining'));
  const text = headers.get('x-ratelimit-reset');
  if (text === null || !/^\d{1,15}(?:\.\d{1,15})?$/.test(text)) return [];
  const limit = integerOf(headers.get('x-ratelimit-limit'));
  const reset = Number(text);
  // The size of the number shows whether it is seconds from now, seconds since the epoch or milliseconds since the
  // epoch.
  if (reset < 1e9) return onlyLimit(units, reset, limit) ?? [];
  const areSeconds = reset < 1e11;
  const resetMs = areSeconds ? reset * 1000 : reset;
  const seconds = Math.max(0, resetMs - serverTimeMs(headers, nowMs)) / 1000;
  // The `Date` header is cut to whole seconds, and so is a reset in seconds since the epoch.
  return onlyLimit(units, seconds, limit, areSeconds ? 2 : 1) ?? [];
}

function onlyLimit(
  units: number | undefined,
  seconds: number | undefined,
  limit: number | undefined,
  excess = 1,
): readonly Remaining[] | undefined {
  if (units === undefined || seconds === undefined) return undefined;
  return [{ name: '', units, seconds, excess, limit }];
}

function integerOf(text: string | null | undefined): number | undefined {
  return text && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}
