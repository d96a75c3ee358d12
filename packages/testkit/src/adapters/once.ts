/** Idempotency keys: a request with a key runs once, and retries get the stored response, byte for byte. */

import { keepsAnswers } from './once-answers.js';
import { claimsKeys } from './once-claims.js';
import type { OnceWorld } from './once-world.js';

export { repeatsUncompressed } from './once-answers.js';
export { repeatsAfterDepartures, repeatsRewritten } from './once-claims.js';

/** Tests for every adapter. */
export function repeats(world: OnceWorld): void {
  keepsAnswers(world);
  claimsKeys(world);
}
