/** Express' request as limiters see it. */

import { canonicalAddress } from '@spillway/core';
import { clientAddress, type Trust } from '@spillway/core/adapter';
import { NodeLimitRequest } from '@spillway/core/node';
import type { Request } from 'express';
import type { ExpressAddressing } from './trust.js';

/** Express' function leaves the port in an entry of X-Forwarded-For: `req.ip` is read as such an entry. */
const ONE_HOP: Trust = { kind: 'hops', hops: 1 };

export class ExpressRequest extends NodeLimitRequest<Request> {
  private readonly believed: ExpressAddressing;

  constructor(raw: Request, believed: ExpressAddressing) {
    super(raw, raw, believed);
    this.believed = believed;
  }

  override get route(): string | undefined {
    const path: unknown = this.raw.route?.path;
    // The mount path is as the client spelled it, and Express matches it in any case: one route, one text.
    return typeof path === 'string' ? this.raw.baseUrl.toLowerCase() + path : undefined;
  }

  protected override findAddress(): string | undefined {
    const { byExpress, ipv6Prefix } = this.believed;
    if (!byExpress) return super.findAddress();
    return canonicalAddress(clientAddress(ONE_HOP, undefined, this.expressAddress()), ipv6Prefix);
  }

  private expressAddress(): string | undefined {
    try {
      return this.raw.ip;
    } catch {
      return undefined; // a trust function of the app's own that throws: nobody is believed
    }
  }
}
