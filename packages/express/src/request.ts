/** Express' request as limiters see it. */

import { NodeLimitRequest } from '@spillway/core/node';
import type { Request } from 'express';
import type { ExpressTrust } from './trust.js';

export class ExpressRequest extends NodeLimitRequest<Request> {
  private readonly believed: ExpressTrust;

  constructor(raw: Request, believed: ExpressTrust, ipv6Prefix: number | undefined) {
    super(raw, raw, believed === 'express' ? { kind: 'none' } : believed, ipv6Prefix);
    this.believed = believed;
  }

  override get path(): string {
    return this.raw.baseUrl + this.raw.path;
  }

  override get route(): string | undefined {
    const path: unknown = this.raw.route?.path;
    // The mount path is as the client spelled it, and Express matches it in any case: one route, one text.
    return typeof path === 'string' ? this.raw.baseUrl.toLowerCase() + path : undefined;
  }

  protected override claimedAddress(): string | undefined {
    if (this.believed !== 'express') return super.claimedAddress();
    try {
      return this.raw.ip;
    } catch {
      return undefined; // a trust function of the app's own that throws: nobody is believed
    }
  }
}
