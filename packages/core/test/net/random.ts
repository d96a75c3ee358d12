/** Seeded randomness and the many spellings of one address, for property tests. */

/** A whole number below `limit`. */
export type Random = (limit: number) => number;

/** Mulberry32: the same numbers for the same seed, everywhere. */
export function seeded(seed: number): Random {
  let state = seed | 0;
  return (limit) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * limit);
  };
}

export function pick<T>(random: Random, items: readonly T[]): T {
  return items[random(items.length)] as T;
}

export function randomIPv4(random: Random): string {
  return Array.from({ length: 4 }, () => pick(random, [0, 1, 10, 255, random(256)])).join('.');
}

/** Eight groups with many zeros, so that runs of them are common. Never IPv4-mapped, never NAT64. */
export function randomGroups(random: Random): number[] {
  const groups = Array.from({ length: 8 }, () =>
    pick(random, [0, 0, 1, 0xffff, random(0x10000), random(0x100)]),
  );
  groups[0] = 0x2000 + random(0x1000);
  return groups;
}

/** One of the legal spellings of eight groups, each chosen now and then. */
export function spell(groups: readonly number[], random: Random): string {
  const parts = groups.map((group) => {
    const hex = group.toString(16).padStart(random(5), '0');
    return random(2) === 0 ? hex : hex.toUpperCase();
  });
  if (random(3) === 0) {
    const [high, low] = [groups[6]!, groups[7]!];
    parts.splice(6, 2, `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`);
  }
  return withGap(groups, parts, random) + pick(random, ['', '', '%eth0', '%3']);
}

/** Shortens one run of zero groups, or a part of a run, to `::`. */
function withGap(groups: readonly number[], parts: readonly string[], random: Random): string {
  const wholeGroups = parts.length === 8 ? 8 : 6;
  const start = random(wholeGroups);
  let end = start;
  while (end < wholeGroups && groups[end] === 0 && (end === start || random(4) > 0)) end += 1;
  if (end === start) return parts.join(':');
  return `${parts.slice(0, start).join(':')}::${parts.slice(end).join(':')}`;
}

/** A text that is nearly an address: hits every branch of a parser more often than noise does. */
export function nearlyAddress(random: Random): string {
  const characters = pick(random, [
    '0123456789.',
    '0123456789abcdefABCDEF:.',
    '01:',
    '01.',
    'f:%. ',
  ]);
  if (random(2) === 0) {
    return Array.from({ length: random(20) }, () => pick(random, [...characters])).join('');
  }
  const base = random(2) === 0 ? randomIPv4(random) : spell(randomGroups(random), random);
  const at = random(base.length + 1);
  const inserted = random(4) === 0 ? '' : pick(random, [...characters]);
  return base.slice(0, at) + inserted + base.slice(at + random(3));
}
