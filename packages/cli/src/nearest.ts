/** The parts of a shaper, such as `name/pace`, come before all others. */
export function nearestFirst(name: string, names: readonly string[]): string[] {
  const distances = new Map(
    names.map((other) => {
      const isPart = other.startsWith(`${name}/`);
      return [other, isPart ? -1 : levenshteinDistance(simple(name), simple(other))];
    }),
  );
  return [...names].sort((a, b) => (distances.get(a) ?? 0) - (distances.get(b) ?? 0));
}

function simple(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]+/g, '-');
}

function levenshteinDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
