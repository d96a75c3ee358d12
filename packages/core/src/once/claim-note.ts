/** What a store keeps with a claim: its owner and, once it is done, a note of one line. */

import { base64url } from '../base/bytes-text.js';

/**
 * What a body's digest is made of: its bytes (`r`), what a parser made of them (`p`), or parts that the app chose
 * (`o`). With `x` it has none, because what the parser made cannot be compared.
 */
type BodyKind = 'r' | 'p' | 'o' | 'x';

/** Of a claim that is done: whether its answer was kept, and what the request was. */
export interface Note {
  /** Whether it is known that a value was written for it. One that came too late to be noted is given all the same. */
  readonly isKept: boolean;
  /** See `headDigest`. */
  readonly head: string;
  /** Undefined where the body was not seen to its end. */
  readonly body: { readonly kind: BodyKind; readonly digest: string } | undefined;
  /** What `Content-Length` said; empty if nothing. */
  readonly length: string;
}

const FORM = /^1([kn]) ([\w-]{22}) (?:([rpo])([\w-]{22})|(x)|-) (\d{0,15})$/;

/** As in `1k <head> r<body> 17`. */
export function noteText({ isKept, head, body, length }: Note): string {
  return `1${isKept ? 'k' : 'n'} ${head} ${body ? body.kind + body.digest : '-'} ${length}`;
}

/** Undefined for a text that is none of ours, or of a later version. */
export function noteIn(text: string): Note | undefined {
  const [, kept, head, kind, digest = '', none, length = ''] = FORM.exec(text) ?? [];
  if (kept === undefined || head === undefined) return undefined;
  const bodyKind = (kind ?? none) as BodyKind | undefined;
  const body = bodyKind && { kind: bodyKind, digest };
  return { isKept: kept === 'k', head, body, length };
}

declare const crypto: { getRandomValues(array: Uint8Array): Uint8Array };

/** A new owner, whom no other claim has: 96 random bits in 16 characters. */
export function newOwner(): string {
  return base64url(crypto.getRandomValues(new Uint8Array(12)));
}
