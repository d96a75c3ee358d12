export interface Random {
  /** Uniformly distributed from 0 (inclusive) to 1 (exclusive). */
  uniform(): number;
  exponential(mean: number): number;
}

/** The generator mulberry32 (T. Ettinger): 32 bits of state, good enough for queues. */
export function seeded(seed: number): Random {
  let state = seed >>> 0;
  const uniform = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return { uniform, exponential: (mean) => -mean * Math.log(1 - uniform()) };
}
