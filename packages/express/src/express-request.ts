import { canonicalAddress } from '@spillway/core';
import { clientAddress, type Trust } from '@spillway/core/adapter';
import { NodeLimitRequest } from '@spillway/core/node';
import type { Request } from 'express';
import type { ExpressAddressing } from './trust.js';

/** Reads `req.ip` like an entry of X-Forwarded-For, because it may come from this header and have a port. */
const ONE_HOP: Trust = { kind: 'hops', hops: 1 };

export class ExpressRequest extends NodeLimitRequest<Request> {
  private readonly believed: ExpressAddressing;

  constructor(raw: Request, believed: ExpressAddressing) {
    super(raw, raw, believed);
    this.believed = believed;
  }

  override get route(): string | undefined {
    const path: unknown = this.raw.route?.path;
    // Express matches mount paths case-insensitively but reports them as the client spelled them.
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
      return undefined; // the app's trust function threw
    }
  }
}
