/** Keys of fifteen characters, and the order in which every contender receives them. */

/** Makes a flat string, as when parsed from a request. V8 would flatten a concatenation during the measurement. */
export function makeKey(index) {
  return Buffer.from(`user:${String(index).padStart(10, '0')}`).toString('latin1');
}

export function makeKeys(count) {
  return Array.from({ length: count }, (_, index) => makeKey(index));
}

/** All keys in a random order, which is the same in every process. Repeats them until there are at least `atLeast`. */
export function shuffled(keys, atLeast) {
  const copy = [...keys];
  const sequence = [];
  let seed = 12345;
  do {
    for (let i = copy.length - 1; i > 0; i -= 1) {
      seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
      const j = Math.floor((seed / 2 ** 32) * (i + 1));
      [copy[i], copy[j]] = [copy[j], copy[i]];
    }
    for (const key of copy) sequence.push(key);
  } while (sequence.length < atLeast);
  return sequence;
}
