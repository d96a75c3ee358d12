/** Names for the owners of claims that no two choose. */

import { base64url } from './base64url.js';

declare const crypto: { getRandomValues(array: Uint8Array): Uint8Array };

/** 96 random bits in 16 characters. */
export function newOwner(): string {
  return base64url(crypto.getRandomValues(new Uint8Array(12)));
}
