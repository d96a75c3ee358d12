/** Parsers of HTTP syntax: dates (RFC 9110, 5.6.7) and lists of Structured Fields (RFC 9651). */

const TIME = '(\\d\\d):(\\d\\d):(\\d\\d)';
const DAY = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)';
const LONG_DAY = '(?:Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)';
const MONTHS = 'JanFebMarAprMayJunJulAugSepOctNovDec';

/** `Sun, 06 Nov 1994 08:49:37 GMT`, the only form that senders may still use. */
const IMF_DATE = new RegExp(`^${DAY}, (\\d\\d) ([A-Z][a-z]{2}) (\\d{4}) ${TIME} GMT$`);
/** `Sunday, 06-Nov-94 08:49:37 GMT` */
const RFC850_DATE = new RegExp(`^${LONG_DAY}, (\\d\\d)-([A-Z][a-z]{2})-(\\d\\d) ${TIME} GMT$`);
/** `Sun Nov  6 08:49:37 1994` */
const ASCTIME_DATE = new RegExp(`^${DAY} ([A-Z][a-z]{2}) ([ \\d]\\d) ${TIME} (\\d{4})$`);

const FIFTY_YEARS_MS = 50 * 365.25 * 86_400_000;

export function parseHttpDate(text: string, nowMs: number): number | undefined {
  let parts = IMF_DATE.exec(text);
  if (parts) return instantOf(parts[3], parts[2], parts[1], parts.slice(4));
  parts = RFC850_DATE.exec(text);
  if (parts) return withCentury(parts, nowMs);
  parts = ASCTIME_DATE.exec(text);
  return parts ? instantOf(parts[6], parts[1], parts[2], parts.slice(3)) : undefined;
}

/**
 * Returns the instant of a date with a two-digit year. A year that would be more than 50 years ahead belongs to the
 * century before.
 */
function withCentury(parts: RegExpExecArray, nowMs: number): number | undefined {
  const century = Math.floor(new Date(nowMs).getUTCFullYear() / 100);
  const [, day, month, year] = parts;
  const instant = instantOf(`${century}${year}`, month, day, parts.slice(4));
  if (instant === undefined || instant - nowMs <= FIFTY_YEARS_MS) return instant;
  return instantOf(`${century - 1}${year}`, month, day, parts.slice(4));
}

function instantOf(
  year: string | undefined,
  month: string | undefined,
  day: string | undefined,
  time: readonly string[],
): number | undefined {
  const [hour = Number.NaN, minute = Number.NaN, second = Number.NaN] = time.map(Number);
  const monthIndex = MONTHS.indexOf(month ?? '-') / 3;
  if (!Number.isInteger(monthIndex) || monthIndex < 0) return undefined;
  if (!(hour <= 23 && minute <= 59 && second <= 60)) return undefined;
  const midnight = Date.UTC(Number(year), monthIndex, Number(day));
  if (new Date(midnight).getUTCDate() !== Number(day)) return undefined;
  return midnight + ((hour * 60 + minute) * 60 + second) * 1000;
}

interface Item {
  readonly name: string;
  readonly parameters: ReadonlyMap<string | undefined, string | undefined>;
}

// Each pattern starts where the last match ended, and no text matches in two ways, so parsing takes linear time.
const STRING = '"(?:[\\x20\\x21\\x23-\\x5b\\x5d-\\x7e]|\\\\["\\\\])*"';
const TOKEN = "[A-Za-z*][\\w!#$%&'*+.^`|~:/-]*";
const BARE_ITEM = `-?\\d{1,15}(?:\\.\\d{1,3})?|${STRING}|${TOKEN}|:[A-Za-z0-9+/=]*:|\\?[01]`;
const NAME = new RegExp(`${STRING}|${TOKEN}`, 'y');
const PARAMETER = new RegExp(`; *([a-z*][a-z0-9_.*-]*)(?:=(${BARE_ITEM}))?`, 'y');
const COMMA = /[ \t]*,[ \t]*/y;

export function parseList(field: string): readonly Item[] | undefined {
  const items: Item[] = [];
  let at = 0;
  const next = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    const match = pattern.exec(field);
    if (match) at = pattern.lastIndex;
    return match;
  };
  do {
    const name = next(NAME);
    if (!name) return undefined;
    const parameters = new Map<string | undefined, string | undefined>();
    for (let match = next(PARAMETER); match; match = next(PARAMETER)) {
      parameters.set(match[1], match[2]);
    }
    items.push({ name: name[0], parameters });
  } while (next(COMMA));
  return at === field.length ? items : undefined;
}
