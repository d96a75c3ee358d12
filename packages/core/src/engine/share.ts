/** The share of keys for which a limit is enforced. */

import { fingerprint } from '../base/fingerprint.js';

/** The same everywhere and for ever: a key must not change sides with a process or a deploy. */
const SEED = { lo: 0x73706c77, hi: 0x73686172 };

/** Whether `key` is among the `share` of keys; whoever is in a share is in every larger one. */
export function isInShare(limiter: string, key: string, share: number): boolean {
  if (share >= 1) return true;
  const { lo } = fingerprint(`${limiter} ${key}`, SEED);
  return (lo >>> 0) / 2 ** 32 < share;
}
