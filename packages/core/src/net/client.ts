import { canonicalAddress, checkIpv6Prefix } from './address.js';
import { forwardedAddresses } from './forwarded.js';
import { clientAddress, compileTrust, type Trust, type TrustProxy } from './trust.js';

export interface AddressOptions {
  /**
   * The proxies whose X-Forwarded-For is trusted: how many stand in front of this server, or their addresses. Default:
   * none; on Express and Fastify, the app's own setting.
   */
  readonly trustProxy?: TrustProxy | undefined;
  /** How many leading bits identify an IPv6 client, 32 to 128. Default 64. */
  readonly ipv6Prefix?: number | undefined;
}

/** Checked {@link AddressOptions}, made by {@link compileAddressing}. */
export interface Addressing {
  readonly trust: Trust;
  readonly ipv6Prefix: number | undefined;
  readonly watch?: ForwardedWatch | undefined;
}

/**
 * Validates and prepares the address options of an adapter for {@link clientOf}.
 *
 * @param notices receives one warning, if `trustProxy` is not set and a proxy header arrives, or if proxies are trusted
 * and `Forwarded` arrives without X-Forwarded-For
 * @param setting the framework's equivalent of `trustProxy`, for the warning, such as `app.set('trust proxy', 1)`
 * @throws SpillwayError `SPW_OPTION_INVALID`, and the codes of `compileTrust`
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

/** Headers in which proxies send the client's address. Spillway reads only the first one. */
const HEADERS = [
  'X-Forwarded-For',
  'Forwarded',
  'X-Real-IP',
  'CF-Connecting-IP',
  'True-Client-IP',
] as const;

const STANDARD = ['Forwarded'] as const;

/**
 * The first 100 requests are checked, then one in 100. A proxy adds its header to every request, so a sample suffices.
 */
const SAMPLED = 100;

/** If X-Forwarded-For has more entries than this, some are probably from the client and not from proxies. */
const MOST_HOPS = 5;

export interface NoticeLog {
  tell(code: 'SPW_FORWARDED_UNTRUSTED', message: string): void;
}

class ForwardedWatch {
  private seen = 0;
  private hasWarned = false;
  private readonly teller: NoticeLog;
  private readonly setting: string;

  constructor(teller: NoticeLog, setting?: string) {
    this.teller = teller;
    this.setting = setting === undefined ? '' : `, or ${setting}`;
  }

  look(
    address: string | undefined,
    request: { header(name: string): string | undefined },
    trusts: boolean,
  ): void {
    this.seen += 1;
    if (this.hasWarned || (this.seen > SAMPLED && this.seen % SAMPLED !== 0)) return;
    for (const field of trusts ? STANDARD : HEADERS) {
      const value = request.header(field.toLowerCase());
      // If the header contains the known address, the app has probably read the address from it.
      if (!value || (address && value.includes(address))) continue;
      this.hasWarned = true;
      this.teller.tell('SPW_FORWARDED_UNTRUSTED', this.message(field, value, trusts));
      return;
    }
  }

  private message(field: string, value: string, trusts: boolean): string {
    const came = `a request came with ${field}`;
    const one = 'so all clients behind a proxy count as one';
    if (trusts) return `${came}, which is not read, ${one}: have the proxy write X-Forwarded-For`;
    const isRead = field === HEADERS[0];
    const first = isRead ? '' : 'have the proxy write X-Forwarded-For, and ';
    const hops = isRead ? hopsIn(value) : undefined;
    return (
      `${came}, but no proxy is trusted, ${one}: ${first}set trustProxy to the number of proxies` +
      `${hops === undefined ? '' : `, ${hops} for this request`}${this.setting}; ` +
      'if there is no proxy, set trustProxy: false'
    );
  }
}

/**
 * The number of proxies, if each added one entry to the header. Undefined if an entry is not an address, or if there
 * are too many.
 */
function hopsIn(value: string): number | undefined {
  let hops = 0;
  for (const address of forwardedAddresses(value)) {
    if (address === undefined || hops === MOST_HOPS) return undefined;
    hops += 1;
  }
  return hops;
}
