/** An IPv4 address as an unsigned 32-bit integer, or an IPv6 address as eight 16-bit groups. */
export type Address = number | readonly number[];

/** An address has up to 45 characters, or 61 with `%` and a zone of 15. */
const MAX_TEXT = 64;

/**
 * Parses an address without port or brackets. Returns undefined for anything else, also for text with spaces, with
 * leading zeros in IPv4, or of more than 64 characters. An IPv4-mapped IPv6 address, in any spelling, becomes IPv4.
 */
export function parseAddress(text: unknown): Address | undefined {
  if (typeof text !== 'string' || text.length > MAX_TEXT) return undefined;
  const ipv4 = parseIPv4(text, 0, text.length);
  if (ipv4 >= 0) return ipv4;
  const end = addressEnd(text);
  const groups = end < 0 ? undefined : parseIPv6(text, end);
  return groups && isMapped(groups) ? lastIPv4(groups) : groups;
}

export function parseIPv4(text: string, start: number, end: number): number {
  if (end - start > 15) return -1;
  let address = 0;
  let octet = -1;
  let dots = 0;
  for (let at = start; at < end; at += 1) {
    const digit = text.charCodeAt(at) - 48;
    if (digit >= 0 && digit <= 9) {
      // Some parsers read a leading zero as octal, and some ignore it, so such an address is rejected as ambiguous.
      if (octet === 0) return -1;
      octet = octet < 0 ? digit : octet * 10 + digit;
      if (octet > 255) return -1;
    } else {
      if (digit !== -2 || octet < 0) return -1;
      address = address * 256 + octet;
      octet = -1;
      dots += 1;
    }
  }
  return dots === 3 && octet >= 0 ? address * 256 + octet : -1;
}

export function lastIPv4(groups: readonly number[]): number {
  return (groups[6] as number) * 65536 + (groups[7] as number);
}

/** Parses the text form of RFC 4291, section 2.2. The last 32 bits may be a dotted IPv4 address. */
function parseIPv6(text: string, end: number): number[] | undefined {
  const groups: number[] = [];
  let gap = -1;
  let at = 0;
  if (text.startsWith('::')) {
    gap = 0;
    at = 2;
  }
  while (at < end) {
    const start = at;
    let group = 0;
    for (let digit = hexDigit(text, at); digit >= 0; digit = hexDigit(text, at)) {
      group = group * 16 + digit;
      at += 1;
      if (at - start > 4) return undefined;
    }
    if (text.charCodeAt(at) === 46) {
      const tail = parseIPv4(text, start, end);
      if (tail < 0) return undefined;
      groups.push(tail >>> 16, tail & 0xffff);
      break;
    }
    if (at === start) return undefined;
    groups.push(group);
    if (at === end) break;
    if (text.charCodeAt(at) !== 58) return undefined;
    at += 1;
    if (text.charCodeAt(at) === 58) {
      if (gap >= 0) return undefined;
      gap = groups.length;
      at += 1;
    } else if (at === end) {
      return undefined;
    }
  }
  return expanded(groups, gap);
}

function expanded(groups: number[], gap: number): number[] | undefined {
  const missing = 8 - groups.length;
  if (gap < 0) return missing === 0 ? groups : undefined;
  if (missing < 1) return undefined;
  const zeros: number[] = [];
  while (zeros.length < missing) zeros.push(0);
  return [...groups.slice(0, gap), ...zeros, ...groups.slice(gap)];
}

function hexDigit(text: string, at: number): number {
  const code = text.charCodeAt(at);
  if (code >= 48 && code <= 57) return code - 48;
  const lower = code | 32;
  return lower >= 97 && lower <= 102 ? lower - 87 : -1;
}

/**
 * The index where the zone begins, as in `fe80::1%eth0`; the text's length if there is no zone; -1 if the zone is
 * invalid. A zone may contain only the unreserved characters of RFC 3986, as in RFC 6874. Interface names need no
 * others.
 */
function addressEnd(text: string): number {
  const percent = text.indexOf('%');
  if (percent < 0) return text.length;
  return /^%[\w.~-]+$/.test(text.slice(percent)) ? percent : -1;
}

function isMapped(groups: readonly number[]): boolean {
  if (groups[5] !== 0xffff) return false;
  for (let at = 0; at < 5; at += 1) if (groups[at] !== 0) return false;
  return true;
}
