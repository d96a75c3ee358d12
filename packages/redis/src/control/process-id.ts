import { bytesToHex } from '@noble/hashes/utils';

declare const crypto: { getRandomValues(array: Uint8Array): Uint8Array };

export function newProcessId(): string {
  return bytesToHex(crypto.getRandomValues(new Uint8Array(8)));
}
