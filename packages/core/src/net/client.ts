/** Finds the canonical address of a client according to the options of an adapter. */

import { canonicalAddress, checkIpv6Prefix } from './address.js';
import { ForwardedWatch, type NoticeLog } from './forwarded-watch.js';
import { clientAddress, compileTrust, type Trust, type TrustProxy } from './trust.js';

/** How to find the client's address behind proxies: options of every adapter. */
export interface AddressOptions {
  /**
   * The trusted proxies, whose X-Forwarded-For is used: how many stand in front of this server, or their addresses.
   * Default: none, so the client is the peer of the connection. Express and Fastify default to the app's own setting;
   * settings of other frameworks are not read.
   */
  readonly trustProxy?: TrustProxy | undefined;
  /** How many leading bits identify an IPv6 client, 32 to 128. Default 64. */
  readonly ipv6Prefix?: number | undefined;
}

/** Checked {@link AddressOptions}, made by {@link compileAddressing}. */
export interface Addressing {
  readonly trust: Trust;
  readonly ipv6Prefix: number | undefined;
  /** Warns about proxy headers that are not read. */
  readonly watch?: ForwardedWatch | undefined;
}

/**
 * Validates and prepares the address options of an adapter, once, for {@link clientOf}.
 *
 * @param notices of the gate: receives one warning if a proxy header arrives although `trustProxy` is not set
 * @param setting the framework's equivalent of `trustProxy`, for the warning, such as `app.set('trust proxy', 1)`
 * @throws SpillwayError `SPW_OPTION_INVALID`, and those of `compileTrust`
 */
export function compileAddressing(
  { trustProxy, ipv6Prefix }: AddressOptions,
  notices?: NoticeLog,
  setting?: string,
): Addressing {
  if (ipv6Prefix !== undefined) checkIpv6Prefix(ipv6Prefix);
  const trust = compileTrust(trustProxy);
  const saysNobody = trust.kind === 'none' && trustProxy !== undefined;
  const watch = notices && !saysNobody ? new ForwardedWatch(notices, setting) : undefined;
  return { trust, ipv6Prefix, watch };
}

/**
 * The canonical address of the client of a request; undefined if it is unknown. X-Forwarded-For is read only if a proxy
 * is trusted.
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
