import { mustBe, SpillwayError, show } from '../base/errors.js';
import { canonicalAddress, checkIpv6Prefix, parseAddress } from './address.js';
import { type AddressRange, holdEveryone, inRange, parseRange } from './cidr.js';
import { forwardedAddresses } from './forwarded.js';

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
 * The canonical address of the client of a request; undefined if it is unknown. X-Forwarded-For is used only if a proxy
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

/** The first 100 requests are checked, then one in 100: a proxy adds its header to every request. */
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

/** The number of proxies, if each added one entry. Undefined if an entry is no address, or if there are too many. */
function hopsIn(value: string): number | undefined {
  let hops = 0;
  for (const address of forwardedAddresses(value)) {
    if (address === undefined || hops === MOST_HOPS) return undefined;
    hops += 1;
  }
  return hops;
}

/**
 * Which proxies are trusted: how many stand in front of this server, or their addresses (`'10.0.0.0/8'`, `'::1'`, and
 * the names `'loopback'`, `'linklocal'`, `'uniquelocal'`). `false` trusts none.
 */
export type TrustProxy = number | readonly string[] | false;

/** A validated {@link TrustProxy}, made by {@link compileTrust}. With `none`, X-Forwarded-For is not used. */
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
  const ranges = [...given].flatMap((element, at) => compileElement(element, `${option}[${at}]`));
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
 * @returns undefined if there is no address in the client's place
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

const NAMED: ReadonlyMap<string, readonly string[]> = /* @__PURE__ */ new Map([
  ['loopback', ['127.0.0.0/8', '::1']],
  ['linklocal', ['169.254.0.0/16', 'fe80::/10']],
  ['uniquelocal', ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7']],
]);

function compileElement(element: unknown, option: string): AddressRange[] {
  const texts = typeof element === 'string' ? (NAMED.get(element) ?? [element]) : [];
  const ranges = texts.flatMap((text) => parseRange(text) ?? []);
  if (ranges.length === 0) {
    const what =
      "an address or a network such as '10.0.0.0/8' or 'fd00::/8', or 'loopback', 'linklocal' or 'uniquelocal'";
    throw mustBe(option, what, element, 'SPW_CIDR_INVALID');
  }
  return ranges;
}

function unsafe(option: string, value: unknown): SpillwayError {
  return new SpillwayError(
    'SPW_TRUST_PROXY_UNSAFE',
    `${option} must not trust everyone: any client could then name itself in X-Forwarded-For and never be limited; ` +
      `write the number of proxies in front of this server, such as 1, or their addresses, such as ['10.0.0.0/8'], got ${show(value)}`,
  );
}
