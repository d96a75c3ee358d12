import { mustBe } from '../base/errors.js';

const DEFAULT_IPV6_PREFIX = 64;

/**
 * The canonical text of a client's address: the same for every spelling of the address.
 *
 * - IPv4 must be four decimal octets and is returned unchanged.
 * - IPv4-mapped IPv6 (`::ffff:192.0.2.1`) and the NAT64 prefix `64:ff9b::/96` become the IPv4 address they contain.
 * - IPv6 is cut to its first `ipv6Prefix` bits, because a subscriber has at least a whole /64. It is written as in RFC
 *   5952: `2001:db8:1:2::/64`, without the suffix at 128 bits. The zone of `fe80::1%eth0` is dropped.
 *
 * @param text the address, without port or brackets
 * @param ipv6Prefix how many leading bits identify an IPv6 client, 32 to 128; default 64
 * @returns undefined if `text` is not an address
 * @throws SpillwayError `SPW_OPTION_INVALID` if `ipv6Prefix` is out of range.
 *
 * @example
 * ```ts
 * import { canonicalAddress } from '@spillway/core';
 *
 * canonicalAddress('::ffff:192.0.2.1'); // '192.0.2.1'
 * canonicalAddress('2001:DB8:0:0:1::1'); // '2001:db8::/64'
 * ```
 */
export function canonicalAddress(
  text: string | undefined,
  ipv6Prefix: number = DEFAULT_IPV6_PREFIX,
): string | undefined {
  checkIpv6Prefix(ipv6Prefix);
  if (typeof text !== 'string') return undefined;
  // The common case. The parser accepts only one spelling of IPv4, so this text is canonical.
  if (parseIPv4(text, 0, text.length) >= 0) return text;
  // A dual-stack socket reports an IPv4 peer in this form.
  if (text.startsWith('::ffff:') && parseIPv4(text, 7, text.length) >= 0) return text.slice(7);

  const address = parseAddress(text);
  if (address === undefined) return undefined;
  if (typeof address === 'number') return writeIPv4(address);
  if (isNat64(address)) return writeIPv4(lastIPv4(address));
  const network = writeIPv6(masked(address, ipv6Prefix));
  return ipv6Prefix === 128 ? network : `${network}/${ipv6Prefix}`;
}

export function checkIpv6Prefix(prefix: number, option = 'ipv6Prefix'): void {
  if (!(Number.isInteger(prefix) && prefix >= 32 && prefix <= 128)) {
    throw mustBe(option, 'a whole number of bits from 32 to 128 such as 64', prefix);
  }
}

/** An address in `64:ff9b::/96` (RFC 6052) is an IPv4 client behind a NAT64 translator. */
function isNat64(groups: readonly number[]): boolean {
  return groups[0] === 0x64 && groups[1] === 0xff9b && groups.slice(2, 6).every(isZero);
}

function masked(groups: readonly number[], prefix: number): number[] {
  return groups.map((group, at) => {
    const dropped = 16 - Math.min(16, Math.max(0, prefix - 16 * at));
    return (group >>> dropped) << dropped;
  });
}

function writeIPv4(address: number): string {
  return `${address >>> 24}.${(address >>> 16) & 255}.${(address >>> 8) & 255}.${address & 255}`;
}

/** Follows RFC 5952: the longest run of two or more zero groups, or the first of equal runs, becomes `::`. */
function writeIPv6(groups: readonly number[]): string {
  let gap = -1;
  let gapLength = 1;
  for (let at = 0; at < 8; at += 1) {
    let end = at;
    while (groups[end] === 0) end += 1;
    if (end - at > gapLength) {
      gap = at;
      gapLength = end - at;
    }
  }
  if (gap < 0) return writeGroups(groups, 0, 8);
  return `${writeGroups(groups, 0, gap)}::${writeGroups(groups, gap + gapLength, 8)}`;
}

function writeGroups(groups: readonly number[], start: number, end: number): string {
  let text = '';
  for (let at = start; at < end; at += 1) {
    if (at > start) text += ':';
    text += (groups[at] as number).toString(16);
  }
  return text;
}

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

function parseIPv4(text: string, start: number, end: number): number {
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

function lastIPv4(groups: readonly number[]): number {
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
  return [...groups.slice(0, gap), ...new Array<number>(missing).fill(0), ...groups.slice(gap)];
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
  return groups[5] === 0xffff && groups.slice(0, 5).every(isZero);
}

function isZero(group: number): boolean {
  return group === 0;
}
