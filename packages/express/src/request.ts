/** Express' request as limiters see it. */

import { canonicalAddress, clientAddress, type LimitRequest } from '@spillway/core';
import type { Request } from 'express';
import type { Believed } from './trust.js';

export class ExpressRequest implements LimitRequest<Request> {
  private address: string | undefined;
  private addressKnown = false;

  constructor(
    readonly raw: Request,
    private readonly trust: Believed,
    private readonly ipv6Prefix: number | undefined,
  ) {}

  get method(): string {
    return this.raw.method.toUpperCase();
  }

  get path(): string {
    return this.raw.baseUrl + this.raw.path;
  }

  get route(): string | undefined {
    const path: unknown = this.raw.route?.path;
    // The mount path is as the client spelled it, and Express matches it in any case: one route, one text.
    return typeof path === 'string' ? this.raw.baseUrl.toLowerCase() + path : undefined;
  }

  get clientIp(): string | undefined {
    if (!this.addressKnown) {
      this.addressKnown = true;
      this.address = canonicalAddress(this.claimedAddress(), this.ipv6Prefix);
    }
    return this.address;
  }

  header(name: string): string | undefined {
    const value = this.raw.headers[name.toLowerCase()];
    if (typeof value === 'string') return value;
    return Array.isArray(value) ? value.join(', ') : undefined;
  }

  private claimedAddress(): string | undefined {
    const { raw, trust } = this;
    try {
      if (trust === 'express') return raw.ip;
      return clientAddress(trust, raw.socket.remoteAddress, this.header('x-forwarded-for'));
    } catch {
      return undefined; // a trust function of the app's own that throws: nobody is believed
    }
  }
}
