/** Which address a client has, as the options of an adapter say: found, believed and brought into one spelling. */

import { canonicalAddress, checkIpv6Prefix } from './address.js';
import { ForwardedWatch, type Teller } from './forwarded-watch.js';
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
  /** Looks for fields of proxies that nobody reads. */
  readonly watch?: ForwardedWatch | undefined;
}

/**
 * Checks and prepares the options of an adapter, once, for {@link clientOf}.
 *
 * @param notices those of the gate: told once of a field of a proxy, where the app said nothing of proxies
 * @param setting of the framework, that says the same as `trustProxy`, as in `app.set('trust proxy', 1)`
 * @throws SpillwayError `SPW_OPTION_INVALID`, and those of `compileTrust`
 */
export function compileAddressing(
  { trustProxy, ipv6Prefix }: AddressOptions,
  notices?: Teller,
  setting?: string,
): Addressing {
  if (ipv6Prefix !== undefined) checkIpv6Prefix(ipv6Prefix);
  const trust = compileTrust(trustProxy);
  const saysNobody = trust.kind === 'none' && trustProxy !== undefined;
  const watch = notices && !saysNobody ? new ForwardedWatch(notices, setting) : undefined;
  return { trust, ipv6Prefix, watch };
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
  { trust, ipv6Prefix, watch }: Addressing,
  peer: string | undefined,
  request: { header(name: string): string | undefined },
): string | undefined {
  const trusts = trust.kind !== 'none';
  const forwarded = trusts ? request.header('x-forwarded-for') : undefined;
  if (watch !== undefined && forwarded === undefined) watch.look(peer, request, trusts);
  return canonicalAddress(clientAddress(trust, peer, forwarded), ipv6Prefix);
}
