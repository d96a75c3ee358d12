/** The doors of the packages: the files that users import by name. */

import { posix, relative } from 'node:path';
import { publicFolders, ROOT, readManifest } from '../packaging/packages.js';
import type { Export } from './reader.js';
import type { Tree } from './tree.js';

export interface Door {
  /** What users write: `@spillway/core/store`. */
  readonly name: string;
  /** Its source: `packages/core/src/store.ts`. */
  readonly file: string;
}

/** The doors of every package, as its package.json lists them. */
export function doors(): Door[] {
  return publicFolders().flatMap((dir) => {
    const { name, exports } = readManifest(dir);
    return Object.entries(exports).flatMap(([door, target]) => {
      if (typeof target === 'string') return [];
      const source = (target as { readonly '@spillway/source': string })['@spillway/source'];
      return [{ name: posix.join(name, door), file: posix.join(relative(ROOT, dir), source) }];
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
