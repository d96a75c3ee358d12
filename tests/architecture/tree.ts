/** The sources of all packages, by their path in the repository: `packages/core/src/base/clock.ts`. */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, posix, relative } from 'node:path';
import { type Import, readSource, type Source } from './reader.js';

export const ROOT: string = join(import.meta.dirname, '..', '..');

export type Tree = ReadonlyMap<string, Source>;

/** The tree as it is on disk. */
export function readTree(): Tree {
  const files = readdirSync(join(ROOT, 'packages'))
    .map((name) => join(ROOT, 'packages', name, 'src'))
    .filter((dir) => existsSync(dir))
    .flatMap((dir) => readdirSync(dir, { withFileTypes: true, recursive: true }))
    .filter((entry) => entry.isFile() && /(?<!\.d)\.ts$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name));
  return treeOf(
    Object.fromEntries(files.map((file) => [relative(ROOT, file), readFileSync(file, 'utf8')])),
  );
}

/** A tree of texts, by path. */
export function treeOf(texts: Readonly<Record<string, string>>): Tree {
  const files = Object.keys(texts).sort();
  return new Map(files.map((file) => [file, readSource(texts[file] ?? '', file)]));
}

/** `core` of `packages/core/src/base/clock.ts`. */
export function packageOf(file: string): string {
  return file.split('/')[1] ?? '';
}

/** The path that a relative import means; nothing for an import of a package. */
export function targetOf(file: string, { from }: Pick<Import, 'from'>): string | undefined {
  if (!from.startsWith('.')) return undefined;
  return posix.join(posix.dirname(file), from).replace(/\.js$/, '.ts');
}
