/** A request of node:http as limiters see it; adapters of frameworks above it refine this. */

import type { LimitRequest } from '../contract/request.js';
import { canonicalAddress } from '../net/address.js';
import { clientAddress, type Trust, type TrustProxy } from '../net/trust.js';
import type { NodeRequest } from './closed.js';

/** What limiters are told of node:http's `IncomingMessage`. */
export interface NodeHead {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  readonly headers: { readonly [name: string]: string | readonly string[] | undefined };
  readonly socket: { readonly remoteAddress?: string | undefined };
}

/** What is needed of node:http's `IncomingMessage` to limit it. */
export interface NodeIncoming extends NodeHead, NodeRequest {
  readonly socket: NodeRequest['socket'] & NodeHead['socket'];
}

/** Who is asking, for servers that see a socket. */
export interface AddressOptions {
  /**
   * The proxies whose X-Forwarded-For is believed: how many stand in front of this server, or their addresses. Default:
   * none, the address is that of the socket.
   */
  readonly trustProxy?: TrustProxy | undefined;
  /** How many bits tell IPv6 clients apart, 32 to 128. Default 64. */
  readonly ipv6Prefix?: number | undefined;
}

/** The neutral request over one of node:http: for adapters, which give their framework's request as `raw`. */
export class NodeLimitRequest<Raw> implements LimitRequest<Raw> {
  private address: string | undefined;
  private addressKnown = false;
  readonly raw: Raw;
  private readonly incoming: NodeHead;
  private readonly trust: Trust;
  private readonly ipv6Prefix: number | undefined;

  constructor(raw: Raw, incoming: NodeHead, trust: Trust, ipv6Prefix: number | undefined) {
    this.raw = raw;
    this.incoming = incoming;
    this.trust = trust;
    this.ipv6Prefix = ipv6Prefix;
  }

  get method(): string {
    return (this.incoming.method ?? 'GET').toUpperCase();
  }

  get path(): string {
    return pathOf(this.url);
  }

  get route(): string | undefined {
    return undefined;
  }

  get clientIp(): string | undefined {
    if (!this.addressKnown) {
      this.addressKnown = true;
      this.address = canonicalAddress(this.claimedAddress(), this.ipv6Prefix);
    }
    return this.address;
  }

  header(name: string): string | undefined {
    const value = this.incoming.headers[name.toLowerCase()];
    if (typeof value === 'string') return value;
    return Array.isArray(value) ? value.join(', ') : undefined;
  }

  /** The request's target as it was sent. */
  protected get url(): string {
    return this.incoming.url ?? '/';
  }

  /** The client's address as somebody who is believed wrote it. */
  protected claimedAddress(): string | undefined {
    const { trust, incoming } = this;
    const peer = incoming.socket.remoteAddress;
    if (trust.kind === 'none') return peer;
    return clientAddress(trust, peer, this.header('x-forwarded-for'));
  }
}

const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i;

/** The path of a request's target; that of a proxy's kind, `http://host/path`, too. */
function pathOf(url: string): string {
  const target = url.startsWith('/') ? url : url.replace(ORIGIN, '');
  const end = target.search(/[?#]/);
  return (end < 0 ? target : target.slice(0, end)) || '/';
}
