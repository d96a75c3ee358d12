import { type Address, parseAddress } from './address.js';

/** The addresses whose first `prefix` bits equal those of `network`. IPv4 and IPv6 never match each other. */
export interface AddressRange {
  readonly network: Address;
  readonly prefix: number;
}

/**
 * Parses `10.0.0.0/8`, `fd00::/8` or a single address, and returns undefined for anything else. Bits after the prefix
 * are ignored. An IPv4-mapped range (`::ffff:10.0.0.0/104`) becomes the IPv4 range.
 */
export function parseRange(text: string): AddressRange | undefined {
  // Ranges with a zone are rejected: matching ignores zones, so they would match addresses on other interfaces too.
  if (text.includes('%')) return undefined;
  const slash = text.indexOf('/');
  const network = parseAddress(slash < 0 ? text : text.slice(0, slash));
  if (network === undefined) return undefined;
  const bits = typeof network === 'number' ? 32 : 128;
  if (slash < 0) return { network, prefix: bits };

  const spelledBits = text.includes(':') ? 128 : 32;
  // A mapped network with fewer than 96 bits would be neither IPv4 nor IPv6.
  const prefix = parsePrefix(text.slice(slash + 1)) - (spelledBits - bits);
  return prefix >= 0 && prefix <= bits ? { network, prefix } : undefined;
}

export function inRange(range: AddressRange, address: Address): boolean {
  const { network, prefix } = range;
  if (typeof network === 'number' || typeof address === 'number') {
    if (typeof network !== typeof address) return false;
    // In JavaScript, a shift by 32 is a shift by 0.
    return prefix === 0 || ((network as number) ^ (address as number)) >>> (32 - prefix) === 0;
  }
  for (let at = 0, left = prefix; left > 0; at += 1, left -= 16) {
    const differing = (network[at] as number) ^ (address[at] as number);
    if (differing >>> Math.max(0, 16 - left) !== 0) return false;
  }
  return true;
}

/** The blocks that contain all public addresses, by family. Other addresses are local or unassigned. */
const PUBLIC = [['0.0.0.0/1', '128.0.0.0/2', '192.0.0.0/3'], ['2000::/4']];
/** Non-public networks inside the blocks of {@link PUBLIC} (IANA special-purpose address registries). */
const SPECIAL =
  '0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 ' +
  '192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 2001:db8::/32';

/** Whether the ranges together contain every public IPv4 address, or every public IPv6 address. */
export function holdEveryone(ranges: readonly AddressRange[]): boolean {
  if (ranges.length === 0) return false;
  const held = [...ranges, ...SPECIAL.split(' ').map(rangeOf)].map(bitsOf);
  return PUBLIC.some((family) => family.every((text) => cover(held, bitsOf(rangeOf(text)))));
}

const rangeOf = (text: string): AddressRange => parseRange(text) as AddressRange;

function bitsOf({ network, prefix }: AddressRange): string {
  const binary = (number: number, bits: number) => number.toString(2).padStart(bits, '0');
  return typeof network === 'number'
    ? `4${binary(network, 32)}`.slice(0, prefix + 1)
    : `6${network.map((group) => binary(group, 16)).join('')}`.slice(0, prefix + 1);
}

function cover(ranges: readonly string[], bits: string): boolean {
  if (ranges.some((range) => bits.startsWith(range))) return true;
  const inside = ranges.filter((range) => range.startsWith(bits));
  return inside.length > 0 && cover(inside, `${bits}0`) && cover(inside, `${bits}1`);
}

function parsePrefix(text: string): number {
  return /^(?:0|[1-9]\d{0,2})$/.test(text) ? Number(text) : -1;
}
