/** Whether a repeat is the request that was done before: what it is, then its body. */

import type { BodyEnd, Recorder } from '../contract/recorder.js';
import type { LimitRequest } from '../contract/request.js';
import { BodyDigest, type Comparing, headDigest, knownBody, lengthOf } from './fingerprint.js';
import type { Note } from './note.js';

/** A body that is repeated is read up to this: whoever compares it keeps none of it. */
const LIMITS = { maxBytes: 10 * 2 ** 20, timeoutMs: 5_000 };

/** `same`, or why it cannot be taken for the same. */
type Comparison = 'same' | 'other' | Extract<BodyEnd, 'too-large' | 'late'>;

/** @param own the digest of the parts that the app chose */
export async function compare<Raw>(
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
