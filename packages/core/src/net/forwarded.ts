import { parseAddress } from './address.js';

const MAX_ENTRIES = 100;
const MAX_CHARACTERS = 8192;

/**
 * The addresses in an X-Forwarded-For header, nearest hop first, without port or brackets; undefined for an entry that
 * is not an address. Empty list elements are skipped (RFC 9110, section 5.6.1).
 *
 * At most 100 entries and the last 8 KiB are read. Everything to the left counts as one invalid entry.
 */
export function* forwardedAddresses(
  header: string,
): Generator<string | undefined, undefined, undefined> {
  const cut = header.length > MAX_CHARACTERS;
  const text = cut ? header.slice(-MAX_CHARACTERS) : header;
  let end = text.length;
  for (let count = 0; end >= 0; ) {
    const comma = end === 0 ? -1 : text.lastIndexOf(',', end - 1);
    if (cut && comma < 0) {
      yield undefined;
      return undefined;
    }
    const entry = entryAt(text, comma + 1, end);
    end = comma;
    if (entry === '') continue;
    if (count === MAX_ENTRIES) {
      yield undefined;
      return undefined;
    }
    count += 1;
    yield addressOf(entry);
  }
  return undefined;
}

function entryAt(text: string, start: number, end: number): string {
  let first = start;
  let last = end;
  while (first < last && isSpace(text, first)) first += 1;
  while (first < last && isSpace(text, last - 1)) last -= 1;
  return text.slice(first, last);
}

/** Accepts `a.b.c.d`, `a.b.c.d:port`, IPv6, `[IPv6]` and `[IPv6]:port`. */
function addressOf(entry: string): string | undefined {
  if (entry.startsWith('[')) {
    const bracket = entry.indexOf(']');
    const address = entry.slice(1, bracket);
    const isIPv6 = bracket > 0 && address.includes(':') && parseAddress(address) !== undefined;
    return isIPv6 && isPortOrNothing(entry, bracket + 1) ? address : undefined;
  }
  const colon = entry.indexOf(':');
  const hasPort = colon >= 0 && entry.indexOf(':', colon + 1) < 0;
  const address = hasPort ? entry.slice(0, colon) : entry;
  if (parseAddress(address) === undefined) return undefined;
  return !hasPort || isPortOrNothing(entry, colon) ? address : undefined;
}

function isSpace(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code === 32 || code === 9;
}

function isPortOrNothing(entry: string, start: number): boolean {
  if (start === entry.length) return true;
  const port = entry.slice(start + 1);
  return entry[start] === ':' && /^\d{1,5}$/.test(port) && Number(port) <= 65535;
}
