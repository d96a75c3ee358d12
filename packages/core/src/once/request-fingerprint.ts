import { base64url } from '../base/bytes-text.js';
import { afterPendingInput, type Eventually, isLater } from '../base/host.js';
import { type Digest, newDigest, sha256 } from '../base/sha256.js';
import { utf8Bytes } from '../base/utf8.js';
import type { BodyEnd, BodyWatcher, Recorder } from '../contract/recorder.js';
import type { LimitRequest } from '../contract/request.js';
import type { Note } from './claim-note.js';
import { Hidden, stableDigest } from './stable-digest.js';

export interface Comparing {
  readonly comparesHost: boolean;
  incomparable(error: unknown): void;
}

/** SHA-256 of all that is compared except the body, with the host only if `comparesHost`. */
function headDigest<Raw>(
  request: LimitRequest<Raw>,
  recorder: Recorder,
  { comparesHost }: Comparing,
): string {
  const parts = [
    request.method,
    // A client that forges `X-Forwarded-Host` only prevents replays of that client's requests.
    comparesHost ? plainHost(recorder.host) : '',
    comparesHost ? plainHost(request.header('x-forwarded-host')) : '',
    request.path,
    sortedQuery(recorder.query),
    mediaType(request.header('content-type')),
    (request.header('content-encoding') ?? '').trim().toLowerCase(),
  ];
  return digestText(sha256(utf8Bytes(parts.join('\n'))));
}

/** Returns the host without its port, because the port may differ between processes of one service. */
function plainHost(host = ''): string {
  return host.toLowerCase().replace(/\.?(:\d*)?$/, '');
}

/** Sorts a query by parameter name. Parameters with the same name keep their order, because handlers see the order. */
function sortedQuery(query: string): string {
  const parameterName = (pair: string): string => pair.split('=', 1)[0] as string;
  const byName = (one: string, other: string): number =>
    parameterName(one) < parameterName(other)
      ? -1
      : Number(parameterName(one) > parameterName(other));
  return query.split('&').filter(Boolean).sort(byName).join('&');
}

/** The media type and charset, unless UTF-8. A multipart boundary changes with each attempt. */
function mediaType(value = ''): string {
  const [type = '', ...parameters] = value.toLowerCase().replace(/[\s"]/g, '').split(';');
  const charset = parameters.find((parameter) => parameter.startsWith('charset='));
  return !charset || /^charset=utf-?8$/.test(charset) ? type : `${type};${charset}`;
}

export interface PendingFingerprint {
  readFingerprint(): Omit<Note, 'isStored'>;
  isCut(): boolean;
}

/**
 * Starts the fingerprint of a request. Call it before the handler runs. The parsed body is digested at once; without
 * one, the bytes are digested while the handler reads them. If this returns a promise, the handler must wait for it.
 *
 * @param own the digest of the value that `fingerprint` returned, if any
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
    readFingerprint: () => ({ head, length, body: known ?? body.readDigest() }),
    isCut: () => body.isCut,
  });
  const known = knownBody(recorder, own, comparing);
  if (watched) return watched.then(() => known).then(taken);
  return isLater(known) ? known.then(taken) : taken(known);
}

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

function lengthOf<Raw>(request: LimitRequest<Raw>): string {
  const length = request.header('content-length') ?? '';
  return /^\d{1,15}$/.test(length) ? length : '';
}

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

  readDigest(): Note['body'] {
    return this.digest === undefined ? undefined : { kind: 'r', digest: this.digest };
  }
}

/** Limits for reading the body of a retry. The bytes are hashed, not buffered. */
const LIMITS = { maxBytes: 10 * 2 ** 20, timeoutMs: 5_000 };

type Comparison = 'same' | 'other' | Extract<BodyEnd, 'too-large' | 'late'>;

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
  return compareBodies(note, body.readDigest(), request);
}

/**
 * Compares two bodies by their digests. Without two digests of the same kind, only the lengths are compared, and a
 * missing length equals any. For parsed multipart forms, the lengths are compared as well, because the parsed body
 * often lacks the files. A body that cannot be compared counts as different.
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

/** The first 132 bits of a SHA-256, in 22 characters. */
function digestText(digest: Uint8Array): string {
  return base64url(digest).slice(0, 22);
}

/** A value without comparable content, such as a Blob, has neither a digest nor an error. */
export interface ValueDigest {
  readonly digest?: string;
  readonly error?: Error;
}

/**
 * Digests a value: a small one synchronously, a large one in slices, between which the event loop runs. A returned
 * promise never rejects, and the value must not change until it settles.
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

function nextSlice(work: Iterator<undefined, Uint8Array>): ValueDigest | undefined {
  try {
    const { done, value } = work.next();
    return done ? { digest: digestText(value) } : undefined;
  } catch (error) {
    if (error instanceof Hidden) return {};
    const why =
      error instanceof Error
        ? error
        : new TypeError('a value threw something that is not an Error');
    return { error: why };
  }
}
