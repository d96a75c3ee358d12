const MONTHS = 'JanFebMarAprMayJunJulAugSepOctNovDec';

/** Parses `20/May/2024:00:00:18 +0000`, as in nginx' `$time_local` and Apache's `%t`. */
function clfStampUs(text: string): number {
  const month = MONTHS.indexOf(text.slice(3, 6));
  if (text.length < 20 || month % 3 !== 0 || text[2] !== '/') return Number.NaN;
  const ms = Date.UTC(digits(text, 7, 11), month / 3, digits(text, 0, 2), ...clock(text, 12));
  return (ms - zoneMs(text.slice(20).trimStart())) * 1000;
}

/** Parses RFC 3339 with a `T` or a space, and any number of decimals. Without a zone, the stamp is in UTC. */
function isoStampUs(text: string): number {
  if (text.length < 19 || text[4] !== '-' || text[13] !== ':') return Number.NaN;
  const month = digits(text, 5, 7) - 1;
  const ms = Date.UTC(digits(text, 0, 4), month, digits(text, 8, 10), ...clock(text, 11));
  let end = 19;
  let fractionUs = 0;
  if (text[19] === '.' || text[19] === ',') {
    for (end = 20; isDigit(text, end); end += 1) {
      if (end < 26) fractionUs += digits(text, end, end + 1) * 10 ** (25 - end);
    }
  }
  return (ms - zoneMs(text.slice(end))) * 1000 + fractionUs;
}

/** The size of the number tells its unit: seconds, milliseconds, microseconds or nanoseconds. */
function epochStampUs(number: number): number {
  const size = Math.abs(number);
  const perUnit = size < 1e11 ? 1e6 : size < 1e14 ? 1e3 : size < 1e17 ? 1 : 1e-3;
  return Math.round(number * perUnit);
}

/** Stamps from here on are invalid, because times of callers are stored as seconds in 32 bits. */
const END_US = 2 ** 32 * 1e6;

/** Accepts `$time_local`, RFC 3339, and numbers since the epoch, from 1970 to 2106. Returns NaN for other stamps. */
export function stampUs(value: unknown): number {
  const us = anyStampUs(value);
  return us >= 0 && us < END_US ? us : Number.NaN;
}

function anyStampUs(value: unknown): number {
  if (typeof value === 'number') return epochStampUs(value);
  if (typeof value !== 'string' || !isDigit(value, 0)) return Number.NaN;
  if (value[2] === '/') return clfStampUs(value);
  return value[4] === '-' ? isoStampUs(value) : epochStampUs(Number(value));
}

function clock(text: string, at: number): [number, number, number] {
  return [digits(text, at, at + 2), digits(text, at + 3, at + 5), digits(text, at + 6, at + 8)];
}

/** Parses `+0200`, `+02:00`, `Z` or an empty string. */
function zoneMs(zone: string): number {
  if (zone === '' || zone === 'Z' || zone === 'z') return 0;
  const minutes = digits(zone, 1, 3) * 60 + digits(zone, zone[3] === ':' ? 4 : 3, zone.length);
  return zone[0] === '-' ? -minutes * 60_000 : zone[0] === '+' ? minutes * 60_000 : Number.NaN;
}

function digits(text: string, start: number, end: number): number {
  let number = 0;
  for (let at = start; at < end; at += 1) {
    if (!isDigit(text, at)) return Number.NaN;
    number = number * 10 + text.charCodeAt(at) - 48;
  }
  return number;
}

function isDigit(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code >= 48 && code <= 57;
}
