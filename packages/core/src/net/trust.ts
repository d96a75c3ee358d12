import { mustBe, SpillwayError, show } from '../base/errors.js';
import { type AddressRange, holdEveryone, inRange, parseRange } from './cidr.js';
import { forwardedAddresses } from './forwarded.js';
import { parseAddress } from './parse.js';

/**
 * Which proxies are trusted: how many stand in front of this server, or their addresses (`'10.0.0.0/8'`, `'::1'`, and
 * the names `'loopback'`, `'linklocal'`, `'uniquelocal'`). `false` trusts none.
 */
export type TrustProxy = number | readonly string[] | false;

/** A validated {@link TrustProxy}, made by {@link compileTrust}. With `none`, X-Forwarded-For is not read at all. */
export type Trust =
  | { readonly kind: 'none' }
  | { readonly kind: 'hops'; readonly hops: number }
  | { readonly kind: 'ranges'; readonly ranges: readonly AddressRange[] };

/**
 * Validates and prepares a `trustProxy` option, once, for {@link clientAddress}. `0`, `[]`, `false` and undefined trust
 * no proxy.
 *
 * Use a hop count only if every request, including those over Unix sockets, passes through exactly that many proxies.
 * Otherwise use addresses.
 *
 * @param option the name of the option in messages
 * @throws SpillwayError `SPW_TRUST_PROXY_UNSAFE` for `true` and for networks that together contain all public addresses
 * of IPv4 or IPv6 (`0.0.0.0/0`, `2000::/4`), `SPW_CIDR_INVALID` for an element that is not an address, network or name,
 * `SPW_TRUST_PROXY_INVALID` for any other value.
 *
 * @example
 * ```ts
 * import { clientAddress, compileTrust } from '@spillway/core/adapter';
 *
 * const trust = compileTrust(['loopback', '10.0.0.0/8']);
 * clientAddress(trust, '10.0.0.7', '6.6.6.6, 192.0.2.1, 10.0.0.9'); // '192.0.2.1'
 * ```
 */
export function compileTrust(trustProxy: TrustProxy | undefined, option = 'trustProxy'): Trust {
  const given: unknown = trustProxy;
  if (given === undefined || given === false || given === 0) return { kind: 'none' };
  if (given === true) throw unsafe(option, given);
  if (typeof given === 'number' && Number.isSafeInteger(given) && given > 0) {
    return { kind: 'hops', hops: given };
  }
  if (!Array.isArray(given)) {
    throw mustBe(
      option,
      "the number of proxies in front of this server, a list of their addresses such as ['10.0.0.0/8'], or false",
      given,
      'SPW_TRUST_PROXY_INVALID',
    );
  }
  const ranges: AddressRange[] = [];
  for (const [at, element] of given.entries()) {
    ranges.push(...compileElement(element, `${option}[${at}]`));
  }
  if (holdEveryone(ranges)) throw unsafe(option, given);
  return ranges.length === 0 ? { kind: 'none' } : { kind: 'ranges', ranges };
}

/**
 * The address of the client as written, without port or brackets. Pass it to `canonicalAddress` before using it as a
 * key.
 *
 * The hops are the socket's peer, then the entries of X-Forwarded-For from right to left:
 *
 * - With addresses as trust, the client is the first hop that is not trusted.
 * - With a hop count of n, the client is the n-th entry from the right.
 * - If every hop is trusted, or there are fewer than n entries, the client is the leftmost address.
 *
 * @param socketAddress the address of the socket's peer; undefined over a Unix socket
 * @param forwardedFor the value of X-Forwarded-For, its lines joined by commas; ignored if no proxy is trusted
 * @returns undefined if the entry in the client's place is not an address
 *
 * @example
 * ```ts
 * import { clientAddress, compileTrust } from '@spillway/core/adapter';
 *
 * clientAddress(compileTrust(1), '10.0.0.7', '6.6.6.6, 192.0.2.1'); // '192.0.2.1'
 * ```
 */
export function clientAddress(
  trust: Trust,
  socketAddress: string | undefined,
  forwardedFor: string | undefined,
): string | undefined {
  const peer = parseAddress(socketAddress) === undefined ? undefined : socketAddress;
  if (trust.kind === 'none' || !forwardedFor) return peer;
  return trust.kind === 'hops'
    ? hopFromRight(trust.hops, peer, forwardedFor)
    : firstUntrusted(trust.ranges, peer, forwardedFor);
}

function hopFromRight(
  hops: number,
  peer: string | undefined,
  forwardedFor: string,
): string | undefined {
  let leftmost = peer;
  let left = hops;
  for (const address of forwardedAddresses(forwardedFor)) {
    left -= 1;
    if (left === 0) return address;
    leftmost = address ?? leftmost;
  }
  return leftmost;
}

function firstUntrusted(
  ranges: readonly AddressRange[],
  peer: string | undefined,
  forwardedFor: string,
): string | undefined {
  let client = peer;
  if (!isTrusted(ranges, client)) return client;
  for (client of forwardedAddresses(forwardedFor)) {
    if (!isTrusted(ranges, client)) return client;
  }
  return client;
}

function isTrusted(ranges: readonly AddressRange[], text: string | undefined): boolean {
  const address = parseAddress(text);
  return address !== undefined && ranges.some((range) => inRange(range, address));
}

function compileElement(element: unknown, option: string): AddressRange[] {
  const texts = typeof element === 'string' ? (named(element) ?? [element]) : [];
  const ranges: AddressRange[] = [];
  for (const text of texts) {
    const range = parseRange(text);
    if (range) ranges.push(range);
  }
  if (ranges.length === 0) {
    const what =
      "an address or a network such as '10.0.0.0/8' or 'fd00::/8', or 'loopback', 'linklocal' or 'uniquelocal'";
    throw mustBe(option, what, element, 'SPW_CIDR_INVALID');
  }
  return ranges;
}

function named(name: string): readonly string[] | undefined {
  switch (name) {
    case 'loopback':
      return ['127.0.0.0/8', '::1'];
    case 'linklocal':
      return ['169.254.0.0/16', 'fe80::/10'];
    case 'uniquelocal':
      return ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'];
    default:
      return undefined;
  }
}

function unsafe(option: string, value: unknown): SpillwayError {
  return new SpillwayError(
    'SPW_TRUST_PROXY_UNSAFE',
    `${option} must not trust everyone: any client could then name itself in X-Forwarded-For and never be limited; ` +
      `write the number of proxies in front of this server, such as 1, or their addresses, such as ['10.0.0.0/8'], got ${show(value)}`,
  );
}
