/** What tells whether two requests with one idempotency key are the same request. */

import { type Digest, newDigest } from '../base/sha256.js';
import { utf8Bytes } from '../base/utf8.js';
import type { BodyWatcher, Recorder } from '../contract/recorder.js';
import type { LimitRequest } from '../contract/request.js';
import { base64url } from './base64url.js';
import type { BodyKind, Note } from './note.js';
import { stableText } from './stable.js';

/** Of a digest in a note: 128 bits. */
const DIGITS = 22;

/** SHA-256 of method, path, sorted query and media type: in another order of the query it is the same request. */
export function headDigest<Raw>(request: LimitRequest<Raw>, query: string): string {
  const type = (request.header('content-type') ?? '').split(';', 1)[0] ?? '';
  const sorted = query.split('&').filter(Boolean).sort().join('&');
  const parts = [request.method, request.path, sorted, type.trim().toLowerCase()];
  return textDigest(parts.join('\n'));
}

/** The digest of a value: of a body that a parser has read, or of parts that the app chose; undefined for none. */
export function valueDigest(value: unknown): string | undefined {
  try {
    return value === undefined ? undefined : textDigest(stableText(value));
  } catch {
    return undefined; // it contains itself, or what cannot be told from others
  }
}

/** What is known of a request once its handler has answered. */
export interface PendingFingerprint {
  read(): Omit<Note, 'isKept'>;
  /** Whether the handler was reading a body that broke off. */
  isCut(): boolean;
}

/**
 * Takes the fingerprint of a request whose handler is about to run: of its bytes as they pass, unless a parser has read
 * them.
 *
 * @param own the digest of the parts that the app chose
 */
export function takeFingerprint<Raw>(
  request: LimitRequest<Raw>,
  recorder: Recorder,
  own: string | undefined,
): PendingFingerprint {
  const head = headDigest(request, recorder.query);
  const length = lengthOf(request);
  const known = knownBody(recorder, own);
  const body = new BodyDigest();
  if (recorder.parsedBody() === undefined) recorder.watchBody(body);
  return {
    read: () => ({ head, length, body: known ?? body.read() }),
    isCut: () => body.isCut,
  };
}

/** The body's part of a fingerprint, where it is known without the bytes. */
export function knownBody(recorder: Recorder, own: string | undefined): Note['body'] {
  if (own !== undefined) return { kind: 'o', digest: own };
  const parsed = valueDigest(recorder.parsedBody());
  return parsed === undefined ? undefined : { kind: 'p', digest: parsed };
}

/** The length that a request tells of its body; empty if it tells none. */
export function lengthOf<Raw>(request: LimitRequest<Raw>): string {
  const length = request.header('content-length') ?? '';
  return /^\d{1,15}$/.test(length) ? length : '';
}

/** The digest of a body that is seen piece by piece. */
export class BodyDigest implements BodyWatcher {
  isCut = false;
  private readonly hash: Digest = newDigest();
  private digest: string | undefined;

  chunk(bytes: Uint8Array): void {
    if (this.digest === undefined) this.hash.update(bytes);
  }

  end(): void {
    this.digest ??= shown(this.hash);
  }

  cut(): void {
    this.isCut = this.digest === undefined;
  }

  /** Undefined before the body was seen to its end. */
  read(): Note['body'] {
    const kind: BodyKind = 'r';
    return this.digest === undefined ? undefined : { kind, digest: this.digest };
  }
}

function textDigest(text: string): string {
  const hash = newDigest();
  hash.update(utf8Bytes(text));
  return shown(hash);
}

function shown(hash: Digest): string {
  return base64url(hash.digest()).slice(0, DIGITS);
}
