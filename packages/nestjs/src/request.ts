/** A call as limiters see it, whatever it came by. */

import type { ExecutionContext } from '@nestjs/common';
import { canonicalAddress, type LimitRequest } from '@spillway/core';
import { clientAddress, type Trust } from '@spillway/core/adapter';
import type { Exchange } from './exchange.js';

export class NestRequest implements LimitRequest<ExecutionContext> {
  private address: string | undefined;
  private addressKnown = false;
  readonly raw: ExecutionContext;
  private readonly exchange: Exchange;
  private readonly trust: Trust;
  private readonly ipv6Prefix: number | undefined;

  constructor(
    raw: ExecutionContext,
    exchange: Exchange,
    trust: Trust,
    ipv6Prefix: number | undefined,
  ) {
    this.raw = raw;
    this.exchange = exchange;
    this.trust = trust;
    this.ipv6Prefix = ipv6Prefix;
  }

  /** Of a message, which has none: POST, for it may change anything. */
  get method(): string {
    return this.exchange.request?.method?.toUpperCase() ?? 'POST';
  }

  get path(): string {
    const { request, operation } = this.exchange;
    if (!request) return operation ?? '';
    if (request.path !== undefined) return (request.baseUrl ?? '') + request.path;
    return request.url?.split('?', 1)[0] ?? operation ?? '';
  }

  get route(): string | undefined {
    const { request, operation } = this.exchange;
    if (operation !== undefined) return operation;
    if (request?.routeOptions) return request.routeOptions.url;
    const path = request?.route?.path;
    return typeof path === 'string' ? (request?.baseUrl ?? '').toLowerCase() + path : undefined;
  }

  get clientIp(): string | undefined {
    if (!this.addressKnown) {
      this.addressKnown = true;
      const forwarded = this.trust.kind === 'none' ? undefined : this.header('x-forwarded-for');
      const peer = this.exchange.request?.socket?.remoteAddress;
      this.address = canonicalAddress(clientAddress(this.trust, peer, forwarded), this.ipv6Prefix);
    }
    return this.address;
  }

  header(name: string): string | undefined {
    const value = this.exchange.request?.headers?.[name.toLowerCase()];
    return typeof value === 'object' ? value.join(', ') : value;
  }
}
