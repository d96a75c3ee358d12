/** A node:http request as limiters see it. Adapters of frameworks based on node:http extend it. */

import type { LimitRequest } from '../contract/request.js';
import { type Addressing, clientOf } from '../net/client.js';
import { pathOf } from '../net/target.js';
import type { NodeRequest } from './closed.js';
import { type NodeTarget, targetOf } from './target.js';

/** The part of node:http's `IncomingMessage` that limiters read. */
export interface NodeHead extends NodeTarget {
  readonly method?: string | undefined;
  readonly headers: { readonly [name: string]: string | readonly string[] | undefined };
  readonly socket: { readonly remoteAddress?: string | undefined };
}

/** The part of node:http's `IncomingMessage` that guards need. */
export interface NodeIncoming extends NodeHead, NodeRequest {
  readonly socket: NodeRequest['socket'] & NodeHead['socket'];
}

/** A framework-neutral view of a node:http request. Adapters pass their framework's request as `raw`. */
export class NodeLimitRequest<Raw> implements LimitRequest<Raw> {
  private address: string | undefined;
  private addressKnown = false;
  readonly raw: Raw;
  private readonly incoming: NodeHead;
  private readonly addressing: Addressing;

  constructor(raw: Raw, incoming: NodeHead, addressing: Addressing) {
    this.raw = raw;
    this.incoming = incoming;
    this.addressing = addressing;
  }

  get method(): string {
    return (this.incoming.method ?? 'GET').toUpperCase();
  }

  get path(): string {
    return pathOf(this.target);
  }

  get route(): string | undefined {
    return undefined;
  }

  get clientIp(): string | undefined {
    if (!this.addressKnown) {
      this.addressKnown = true;
      this.address = this.findAddress();
    }
    return this.address;
  }

  peekAddress(): string | undefined {
    if (this.addressKnown) return this.address;
    const quiet = { ...this.addressing, watch: undefined };
    return clientOf(quiet, this.incoming.socket.remoteAddress, this);
  }

  header(name: string): string | undefined {
    const value = this.incoming.headers[name.toLowerCase()];
    if (typeof value === 'string') return value;
    return Array.isArray(value) ? value.join(', ') : undefined;
  }

  /** The request target as sent. Override it together with that of `NodeExchange`. */
  protected get target(): string {
    return targetOf(this.incoming);
  }

  /** The canonical address of the client; called once. */
  protected findAddress(): string | undefined {
    return clientOf(this.addressing, this.incoming.socket.remoteAddress, this);
  }
}
