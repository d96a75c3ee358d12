/** Finds exports that nobody imports. What only a test imports is not used: a test goes through the package's doors. */

import { type Tree, targetOf } from './tree.js';

/** `file: name` of each export that no other file imports and that is not an export of a door. */
export function unusedExports(tree: Tree, doors: ReadonlySet<string>): string[] {
  const used = new Map<string, Set<string>>();
  for (const [file, { imports }] of tree) {
    for (const taken of imports) {
      const target = targetOf(file, taken) ?? '';
      const names = used.get(target) ?? new Set();
      for (const name of taken.names) names.add(name);
      used.set(target, names);
    }
  }
  return [...tree]
    .filter(([file]) => !doors.has(file))
    .flatMap(([file, { exports }]) => {
      const names = used.get(file) ?? new Set();
      const unused = names.has('*') ? [] : exports.filter(({ name }) => !names.has(name));
      return unused.map(({ name }) => `${file}: ${name}`);
    });
}
