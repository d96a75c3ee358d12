/** Percentage rollouts: the share of keys for which a limit is enforced. */

import { fingerprint } from '../base/fingerprint.js';

/** Must never change: a key must be in or out of a share in every process and release. */
const SEED = { lo: 0x73706c77, hi: 0x73686172 };

/** Whether `key` belongs to the `share` of keys. A key in one share is in every larger one. */
export function isInShare(limiter: string, key: string, share: number): boolean {
  if (share >= 1) return true;
  const { lo } = fingerprint(`${limiter} ${key}`, SEED);
  return (lo >>> 0) / 2 ** 32 < share;
}
