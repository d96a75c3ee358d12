import { afterPendingInput } from '../base/host.js';
import type { BodyWatcher } from '../contract/recorder.js';

/** A runtime hashes this many bytes in a few milliseconds. */
const PIECE = 2 ** 18;

/**
 * Shows the bytes of a body to a watcher. Between pieces the event loop runs, so a large body does not block other
 * requests. The bytes must not change before the promise settles. Returns undefined if they were shown synchronously.
 */
export function showBytes(watcher: BodyWatcher, bytes: Uint8Array): Promise<void> | undefined {
  if (bytes.length > PIECE) return showPieces(watcher, bytes);
  watcher.chunk(bytes);
  return undefined;
}

async function showPieces(watcher: BodyWatcher, bytes: Uint8Array): Promise<void> {
  for (let from = 0; from < bytes.length; from += PIECE) {
    if (from > 0) await new Promise<void>(afterPendingInput);
    watcher.chunk(bytes.subarray(from, from + PIECE));
  }
}
