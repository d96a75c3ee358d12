/** Digests of what may be large: in slices of work, between which the event loop turns. */

import { afterPendingInput, type Eventually } from '../base/host.js';
import { base64url } from './base64url.js';
import { Hidden, stableDigest } from './stable.js';

/** 128 bits of a SHA-256. */
export function shown(digest: Uint8Array): string {
  return base64url(digest).slice(0, 22);
}

/** The digest of a value, or why it cannot have one. Neither if it shows nothing to compare, as a Blob. */
export interface ValueDigest {
  readonly digest?: string;
  readonly error?: Error;
}

/** At once for a small value. A promise never rejects; until it settles the value must not change. */
export function valueDigest(value: unknown): Eventually<ValueDigest> {
  const work = stableDigest(value);
  const first = step(work);
  return first ?? rest(work);
}

async function rest(work: Iterator<undefined, Uint8Array>): Promise<ValueDigest> {
  for (;;) {
    await new Promise<void>(afterPendingInput);
    const known = step(work);
    if (known) return known;
  }
}

/** Undefined if there is more to do. */
function step(work: Iterator<undefined, Uint8Array>): ValueDigest | undefined {
  try {
    const { done, value } = work.next();
    return done ? { digest: shown(value) } : undefined;
  } catch (error) {
    if (error instanceof Hidden) return {};
    const why = error instanceof Error ? error : new TypeError('a value threw what is no error');
    return { error: why };
  }
}
