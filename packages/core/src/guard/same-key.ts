/** Whether the key of a limiter tells callers apart: one that never does is a count for all of them. */

import type { LimitRequest } from '../contract/request.js';
import type { Notices } from '../observe/notices.js';

/** So many addresses with one key are no household and no office. */
const ADDRESSES = 1_000;

/** Among so many requests; a count that is meant for all is not compared for ever. */
const REQUESTS = 10_000;

export class SameKey {
  private readonly limiter: string;
  private readonly notices: Notices;
  private readonly addresses = new Set<string>();
  private key: string | undefined;
  private requests = 0;

  constructor(limiter: string, notices: Notices) {
    this.limiter = limiter;
    this.notices = notices;
  }

  /** Looks at one request more; false once there is nothing to look for. */
  isLooking(key: string, request: LimitRequest): boolean {
    this.key ??= key;
    if (key !== this.key) return false;
    const address = request.peekAddress ? request.peekAddress() : request.clientIp;
    if (address !== undefined) this.addresses.add(address);
    this.requests += 1;
    if (this.addresses.size < ADDRESSES) return this.requests < REQUESTS;
    this.notices.tell('SPW_KEY_CONSTANT', sentence(this.limiter), this.limiter);
    return false;
  }
}

function sentence(limiter: string): string {
  return `the key of limiter "${limiter}" was the same for ${ADDRESSES} addresses: have it return what tells callers apart`;
}
