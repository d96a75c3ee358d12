/** Finds files that import one another, directly or over others; imports of types count. */

import { type Tree, targetOf } from './tree.js';

/** Circles, each as its files in the order of import: `a -> b -> a`; at least one if there is any. */
export function circles(tree: Tree): string[] {
  const done = new Set<string>();
  const found: string[] = [];
  const walk = (file: string, way: readonly string[]): void => {
    const at = way.indexOf(file);
    if (at >= 0) found.push([...way.slice(at), file].join(' -> '));
    if (at >= 0 || done.has(file)) return;
    for (const taken of tree.get(file)?.imports ?? []) {
      const target = targetOf(file, taken);
      if (target !== undefined && tree.has(target)) walk(target, [...way, file]);
    }
    done.add(file);
  };
  for (const file of tree.keys()) walk(file, []);
  return found;
}
