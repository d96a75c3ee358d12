/** What the store keeps with a claim: its owner and, once the request is done, a note of one line. */

import { base64url } from '../base/bytes-text.js';

/**
 * What the digest of a body covers: its bytes (`r`), the parsed body (`p`), or parts chosen by the app (`o`). `x`: no
 * digest, because the parsed body cannot be compared.
 */
type BodyKind = 'r' | 'p' | 'o' | 'x';

/** The note of a claim that is done: whether its response was stored, and the fingerprint of the request. */
export interface Note {
  /**
   * Whether the response is known to be stored. If it was stored later, this is false, but retries get the response
   * anyway.
   */
  readonly isStored: boolean;
  /** See `headDigest`. */
  readonly head: string;
  /** Undefined if the body was not read to its end. */
  readonly body: { readonly kind: BodyKind; readonly digest: string } | undefined;
  /** The `Content-Length` header; empty if there was none. */
  readonly length: string;
}

const FORM = /^1([kn]) ([\w-]{22}) (?:([rpo])([\w-]{22})|(x)|-) (\d{0,15})$/;

/** Such as `1k <head> r<body> 17`. */
export function noteText({ isStored, head, body, length }: Note): string {
  return `1${isStored ? 'k' : 'n'} ${head} ${body ? body.kind + body.digest : '-'} ${length}`;
}

/** Undefined for text that is not a note, or is one of a later version. */
export function noteIn(text: string): Note | undefined {
  const [, kept, head, kind, digest = '', none, length = ''] = FORM.exec(text) ?? [];
  if (kept === undefined || head === undefined) return undefined;
  const bodyKind = (kind ?? none) as BodyKind | undefined;
  const body = bodyKind && { kind: bodyKind, digest };
  return { isStored: kept === 'k', head, body, length };
}

declare const crypto: { getRandomValues(array: Uint8Array): Uint8Array };

/** A new unique owner: 96 random bits in 16 characters. */
export function newOwner(): string {
  return base64url(crypto.getRandomValues(new Uint8Array(12)));
}
