import * as core from '@spillway/core';

/** The algorithms that core exports as values: the default one, then the others by name. */
export const ALGORITHMS: readonly core.RateAlgorithm[] = Object.values(core)
  .flatMap((value) => (typeof value === 'object' && 'makeRule' in value ? value : []))
  .sort((a, b) => rankOf(a).localeCompare(rankOf(b)));

function rankOf(algorithm: core.RateAlgorithm): string {
  return algorithm === core.tokenBucket ? '' : algorithm.name;
}
