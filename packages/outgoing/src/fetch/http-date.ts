/** The three forms of an HTTP date (RFC 9110, 5.6.7). */

const TIME = '(\\d\\d):(\\d\\d):(\\d\\d)';
const DAY = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)';
const LONG_DAY = '(?:Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)';
const MONTHS = 'JanFebMarAprMayJunJulAugSepOctNovDec';

/** `Sun, 06 Nov 1994 08:49:37 GMT`, the only form that may still be sent. */
const FIXED = new RegExp(`^${DAY}, (\\d\\d) ([A-Z][a-z]{2}) (\\d{4}) ${TIME} GMT$`);
/** `Sunday, 06-Nov-94 08:49:37 GMT` */
const OLD = new RegExp(`^${LONG_DAY}, (\\d\\d)-([A-Z][a-z]{2})-(\\d\\d) ${TIME} GMT$`);
/** `Sun Nov  6 08:49:37 1994` */
const OF_C = new RegExp(`^${DAY} ([A-Z][a-z]{2}) ([ \\d]\\d) ${TIME} (\\d{4})$`);

const FIFTY_YEARS_MS = 50 * 365.25 * 86_400_000;

/** An HTTP date in ms since the epoch; undefined if the text is none. `nowMs` completes a year of two digits. */
export function parseHttpDate(text: string, nowMs: number): number | undefined {
  let parts = FIXED.exec(text);
  if (parts) return instantOf(parts[3], parts[2], parts[1], parts.slice(4));
  parts = OLD.exec(text);
  if (parts) return inThisCentury(parts, nowMs);
  parts = OF_C.exec(text);
  return parts ? instantOf(parts[6], parts[1], parts[2], parts.slice(3)) : undefined;
}

/** A year of two digits that would be more than 50 years ahead is of the century before. */
function inThisCentury(parts: RegExpExecArray, nowMs: number): number | undefined {
  const century = Math.floor(new Date(nowMs).getUTCFullYear() / 100);
  const [, day, month, year] = parts;
  const instant = instantOf(`${century}${year}`, month, day, parts.slice(4));
  if (instant === undefined || instant - nowMs <= FIFTY_YEARS_MS) return instant;
  return instantOf(`${century - 1}${year}`, month, day, parts.slice(4));
}

/** Undefined for a day or a time that does not exist. A leap second counts as the second after it. */
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
