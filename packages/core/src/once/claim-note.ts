/** The data that the store keeps with a claim: its owner and, once the request has completed, a one-line note. */

import { base64url } from '../base/bytes-text.js';

/** What was digested: bytes (`r`), the parsed body (`p`), or the app's value (`o`). `x`: it can't be compared. */
type BodyKind = 'r' | 'p' | 'o' | 'x';

/** The note of a claim that is done: whether its response was stored, and the fingerprint of the request. */
export interface Note {
  /**
   * Whether the response was stored when this note was written. If it was stored later, this stays false, but retries
   * get the response.
   */
  readonly isStored: boolean;
  /** The digest of everything that is compared except the body. */
  readonly head: string;
  /**
   * The digest of the body, with its source. Undefined if the body was not read to its end, or has no comparable
   * content.
   */
  readonly body: { readonly kind: BodyKind; readonly digest: string } | undefined;
  /** The `Content-Length` header; empty if it was missing or invalid. */
  readonly length: string;
}

const FORM = /^1([kn]) ([\w-]{22}) (?:([rpo])([\w-]{22})|(x)|-) (\d{0,15})$/;

/** Formats a note, such as `1k <head> r<body> 17`. */
export function noteText({ isStored, head, body, length }: Note): string {
  return `1${isStored ? 'k' : 'n'} ${head} ${body ? body.kind + body.digest : '-'} ${length}`;
}

/** Parses a note. Returns undefined if the text is not in this version's format. */
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
