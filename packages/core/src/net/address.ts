import { mustBe } from '../base/errors.js';
import { lastIPv4, parseAddress, parseIPv4 } from './parse.js';

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
  if (groups[0] !== 0x64 || groups[1] !== 0xff9b) return false;
  for (let at = 2; at < 6; at += 1) if (groups[at] !== 0) return false;
  return true;
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
