/** Identifies this process among those that write to the same Redis. */

import { bytesToHex } from '@noble/hashes/utils';

declare const crypto: { getRandomValues(array: Uint8Array): Uint8Array };

/** 64 random bits. */
export function newProcessId(): string {
  return bytesToHex(crypto.getRandomValues(new Uint8Array(8)));
}
