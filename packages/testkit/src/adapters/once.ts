import { keepsAnswers } from './once-answers.js';
import { claimsKeys } from './once-claims.js';
import type { OnceWorld } from './once-world.js';

export { repeatsUncompressed } from './once-answers.js';
export { repeatsAfterDepartures, repeatsRewritten } from './once-claims.js';

export function repeats(world: OnceWorld): void {
  keepsAnswers(world);
  claimsKeys(world);
}
