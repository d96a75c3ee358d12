/** Warns if the key function of a limiter returns the same key for all callers, which then share one count. */

import type { LimitRequest } from '../contract/request.js';
import type { Notices } from '../observe/notices.js';

/** The warning needs this many addresses: more than a household or an office has. */
const ADDRESSES = 1_000;

/** The check ends after this many requests if they come from too few addresses for a warning. */
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

  /** Returns false once the check has ended. */
  isLooking(key: string, request: LimitRequest): boolean {
    this.key ??= key;
    if (key !== this.key) return false;
    const address = request.peekAddress ? request.peekAddress() : request.clientIp;
    if (address !== undefined) this.addresses.add(address);
    this.requests += 1;
    if (this.addresses.size < ADDRESSES) return this.requests < REQUESTS;
    this.notices.tell(
      'SPW_KEY_CONSTANT',
      `the key of limiter "${this.limiter}" was the same for ${ADDRESSES} addresses: return something that differs between callers, such as a user id`,
      this.limiter,
    );
    return false;
  }
}
