/** The doors of the packages: the files that users import by name. */

import { readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import type { Export } from './reader.js';
import { ROOT, type Tree } from './tree.js';

export interface Door {
  /** What users write: `@spillway/core/store`. */
  readonly name: string;
  /** Its source: `packages/core/src/store.ts`. */
  readonly file: string;
}

interface Manifest {
  readonly name: string;
  readonly exports: Readonly<Record<string, string | { readonly '@spillway/source': string }>>;
}

/** The doors of every package, as its package.json lists them. */
export function doors(): Door[] {
  const packages = readdirSync(join(ROOT, 'packages'));
  return packages.sort().flatMap((dir) => {
    const path = join(ROOT, 'packages', dir, 'package.json');
    const { name, exports } = JSON.parse(readFileSync(path, 'utf8')) as Manifest;
    return Object.entries(exports).flatMap(([door, target]) => {
      if (typeof target === 'string') return [];
      const file = posix.join('packages', dir, target['@spillway/source']);
      return [{ name: posix.join(name, door), file }];
    });
  });
}

/** Files that are run, not imported. */
export const PROGRAMS: readonly string[] = ['packages/cli/src/main.ts'];

/** What a door exports, one name a line, sorted; of what it hands on whole, the door it comes from. */
export function exportsOf(tree: Tree, file: string): string[] {
  const { exports = [], stars = [] } = tree.get(file) ?? {};
  return [...stars.map((from) => `everything of ${from}`), ...sorted(exports)];
}

function sorted(exports: readonly Export[]): string[] {
  const lines = (wanted: boolean): string[] =>
    exports
      .filter(({ isType }) => isType === wanted)
      .map(({ name }) => (wanted ? `type ${name}` : name))
      .sort();
  return [...lines(false), ...lines(true)];
}
