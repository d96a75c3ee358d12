/** What tells whether two requests with one idempotency key are the same request. */

import { base64url } from '../base/bytes-text.js';
import { afterPendingInput, type Eventually, isLater } from '../base/host.js';
import { type Digest, newDigest } from '../base/sha256.js';
import { utf8Bytes } from '../base/utf8.js';
import type { BodyEnd, BodyWatcher, Recorder } from '../contract/recorder.js';
import type { LimitRequest } from '../contract/request.js';
import type { Note } from './claim-note.js';
import { Hidden, stableDigest } from './stable-digest.js';

/** How the requests of one `idempotency()` are compared. */
export interface Comparing {
  /** Whether the host is compared. */
  readonly comparesHost: boolean;
  /** Called with why a parsed body cannot be compared. */
  incomparable(error: unknown): void;
}

/** SHA-256 of method, host, path, query, media type and encodings: all that is compared beside the body. */
function headDigest<Raw>(
  request: LimitRequest<Raw>,
  recorder: Recorder,
  { comparesHost }: Comparing,
): string {
  const parts = [
    request.method,
    // A client can forge the second, but by doing so it only fails to get its own answer.
    comparesHost ? plainHost(recorder.host) : '',
    comparesHost ? plainHost(request.header('x-forwarded-host')) : '',
    request.path,
    sortedQuery(recorder.query),
    mediaType(request.header('content-type')),
    (request.header('content-encoding') ?? '').trim().toLowerCase(),
  ];
  const hash = newDigest();
  hash.update(utf8Bytes(parts.join('\n')));
  return digestText(hash.digest());
}

/** In lower case, without the dot of the root and without the port, by which processes of one service may differ. */
function plainHost(host = ''): string {
  return host.toLowerCase().replace(/\.?(:\d*)?$/, '');
}

/** By name. Parameters of one name keep their order, in which handlers see them. */
function sortedQuery(query: string): string {
  const nameOf = (pair: string): string => pair.split('=', 1)[0] as string;
  const byName = (one: string, other: string): number =>
    nameOf(one) < nameOf(other) ? -1 : Number(nameOf(one) > nameOf(other));
  return query.split('&').filter(Boolean).sort(byName).join('&');
}

/** With its charset, unless that is UTF-8. The boundary of a form with parts is another at each try. */
function mediaType(value = ''): string {
  const [type = '', ...parameters] = value.toLowerCase().replace(/[\s"]/g, '').split(';');
  const charset = parameters.find((parameter) => parameter.startsWith('charset='));
  return !charset || /^charset=utf-?8$/.test(charset) ? type : `${type};${charset}`;
}

/** What is known of a request once its handler has answered. */
export interface PendingFingerprint {
  read(): Omit<Note, 'isKept'>;
  /** Whether the handler was reading a body that broke off. */
  isCut(): boolean;
}

/**
 * Takes the fingerprint of a request whose handler is about to run: of its bytes as they pass, unless a parser has read
 * them. Where that takes longer, the handler must wait, because it may change what was parsed.
 *
 * @param own the digest of the parts that the app chose
 */
export function takeFingerprint<Raw>(
  request: LimitRequest<Raw>,
  recorder: Recorder,
  own: string | undefined,
  comparing: Comparing,
): Eventually<PendingFingerprint> {
  const head = headDigest(request, recorder, comparing);
  const length = lengthOf(request);
  const body = new BodyDigest();
  const watched = recorder.parsedBody() === undefined ? recorder.watchBody(body) : undefined;
  const taken = (known: Note['body']): PendingFingerprint => ({
    read: () => ({ head, length, body: known ?? body.read() }),
    isCut: () => body.isCut,
  });
  const known = knownBody(recorder, own, comparing);
  if (watched) return watched.then(() => known).then(taken);
  return isLater(known) ? known.then(taken) : taken(known);
}

/** The body's part of a fingerprint, where it is known without the bytes. */
function knownBody(
  recorder: Recorder,
  own: string | undefined,
  { incomparable }: Comparing,
): Eventually<Note['body']> {
  if (own !== undefined) return { kind: 'o', digest: own };
  const parsed = recorder.parsedBody();
  if (parsed === undefined) return undefined;
  const known = ({ digest, error }: ValueDigest): Note['body'] => {
    if (error !== undefined) incomparable(error);
    if (digest !== undefined) return { kind: 'p', digest };
    return error === undefined ? undefined : { kind: 'x', digest: '' };
  };
  const digested = valueDigest(parsed);
  return isLater(digested) ? digested.then(known) : known(digested);
}

/** The length that a request tells of its body; empty if it tells none. */
function lengthOf<Raw>(request: LimitRequest<Raw>): string {
  const length = request.header('content-length') ?? '';
  return /^\d{1,15}$/.test(length) ? length : '';
}

/** The digest of a body that is seen piece by piece. */
class BodyDigest implements BodyWatcher {
  isCut = false;
  private readonly hash: Digest = newDigest();
  private digest: string | undefined;

  chunk(bytes: Uint8Array): void {
    if (this.digest === undefined) this.hash.update(bytes);
  }

  end(): void {
    this.digest ??= digestText(this.hash.digest());
  }

  cut(): void {
    this.isCut = this.digest === undefined;
  }

  /** Undefined before the body was seen to its end. */
  read(): Note['body'] {
    return this.digest === undefined ? undefined : { kind: 'r', digest: this.digest };
  }
}

/** A body that is repeated is read up to this: whoever compares it keeps none of it. */
const LIMITS = { maxBytes: 10 * 2 ** 20, timeoutMs: 5_000 };

/** `same`, or why it cannot be taken for the same. */
type Comparison = 'same' | 'other' | Extract<BodyEnd, 'too-large' | 'late'>;

/**
 * Whether a repeat is the request that was done before: what it is, then its body.
 *
 * @param own the digest of the parts that the app chose
 */
export async function compareRequests<Raw>(
  note: Note,
  request: LimitRequest<Raw>,
  recorder: Recorder,
  own: string | undefined,
  comparing: Comparing,
): Promise<Comparison> {
  if (headDigest(request, recorder, comparing) !== note.head) return 'other';
  const known = await knownBody(recorder, own, comparing);
  if (known) return compareBodies(note, known, request);
  if (note.body?.kind !== 'r' || recorder.parsedBody() !== undefined) {
    return compareBodies(note, undefined, request);
  }
  const body = new BodyDigest();
  const end = await recorder.readBody(body, LIMITS);
  if (end === 'too-large' || end === 'late') return end;
  return compareBodies(note, body.read(), request);
}

/**
 * A body that cannot be compared is another one. Where only one of the two is known, or each by other means, their
 * lengths are compared. So are those of forms with parts: what a parser made of one has its fields, while its files may
 * lie elsewhere.
 */
function compareBodies<Raw>(
  note: Note,
  body: Note['body'],
  request: LimitRequest<Raw>,
): Comparison {
  if (note.body?.kind === 'x' || body?.kind === 'x') return 'other';
  if (note.body && body?.kind === note.body.kind) {
    if (body.digest !== note.body.digest) return 'other';
    if (body.kind !== 'p' || !hasParts(request)) return 'same';
  }
  const length = lengthOf(request);
  return note.length === '' || length === '' || note.length === length ? 'same' : 'other';
}

function hasParts<Raw>(request: LimitRequest<Raw>): boolean {
  return /^\s*multipart\//i.test(request.header('content-type') ?? '');
}

/** 128 bits of a SHA-256. */
function digestText(digest: Uint8Array): string {
  return base64url(digest).slice(0, 22);
}

/** The digest of a value, or why it cannot have one. Neither if it shows nothing to compare, as a Blob. */
export interface ValueDigest {
  readonly digest?: string;
  readonly error?: Error;
}

/**
 * The digest of what may be large, in slices of work between which the event loop turns. At once for a small value. A
 * promise never rejects; until it settles the value must not change.
 */
export function valueDigest(value: unknown): Eventually<ValueDigest> {
  const work = stableDigest(value);
  const first = nextSlice(work);
  return first ?? finishDigest(work);
}

async function finishDigest(work: Iterator<undefined, Uint8Array>): Promise<ValueDigest> {
  for (;;) {
    await new Promise<void>(afterPendingInput);
    const known = nextSlice(work);
    if (known) return known;
  }
}

/** Undefined if there is more to do. */
function nextSlice(work: Iterator<undefined, Uint8Array>): ValueDigest | undefined {
  try {
    const { done, value } = work.next();
    return done ? { digest: digestText(value) } : undefined;
  } catch (error) {
    if (error instanceof Hidden) return {};
    const why = error instanceof Error ? error : new TypeError('a value threw what is no error');
    return { error: why };
  }
}
