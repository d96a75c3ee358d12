/** Which address a client has, as the options of an adapter say: found, believed and brought into one spelling. */

import { canonicalAddress, checkIpv6Prefix } from './address.js';
import { clientAddress, compileTrust, type Trust, type TrustProxy } from './trust.js';

/** How the address of a client is found behind proxies: options of every adapter. */
export interface AddressOptions {
  /**
   * The proxies whose X-Forwarded-For is believed: how many stand in front of this server, or their addresses. Default:
   * none, the address is that of the peer; with Express and Fastify, the app's own setting. No other framework's
   * setting is looked at.
   */
  readonly trustProxy?: TrustProxy | undefined;
  /** How many bits tell IPv6 clients apart, 32 to 128. Default 64. */
  readonly ipv6Prefix?: number | undefined;
}

/** Checked {@link AddressOptions}, made by {@link compileAddressing}. */
export interface Addressing {
  readonly trust: Trust;
  readonly ipv6Prefix: number | undefined;
}

/**
 * Checks and prepares the options of an adapter, once, for {@link clientOf}.
 *
 * @throws SpillwayError `SPW_OPTION_INVALID`, and those of `compileTrust`
 */
export function compileAddressing({ trustProxy, ipv6Prefix }: AddressOptions): Addressing {
  if (ipv6Prefix !== undefined) checkIpv6Prefix(ipv6Prefix);
  return { trust: compileTrust(trustProxy), ipv6Prefix };
}

/**
 * The canonical address of the client of a request; undefined where it cannot be known. X-Forwarded-For is read only if
 * a proxy is trusted.
 *
 * @param peer the address of the socket's peer
 *
 * @example
 * ```ts
 * import { clientOf, compileAddressing } from '@spillway/core/adapter';
 *
 * const addressing = compileAddressing({ trustProxy: 1 });
 * const request = { header: (name: string) => ({ 'x-forwarded-for': '2001:db8::1' })[name] };
 * clientOf(addressing, '10.0.0.7', request); // '2001:db8::/64'
 * ```
 */
export function clientOf(
  { trust, ipv6Prefix }: Addressing,
  peer: string | undefined,
  request: { header(name: string): string | undefined },
): string | undefined {
  const forwarded = trust.kind === 'none' ? undefined : request.header('x-forwarded-for');
  return canonicalAddress(clientAddress(trust, peer, forwarded), ipv6Prefix);
}
