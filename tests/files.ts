/** The test files of this repository, and what they consist of. */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');
const NOT_OURS = new Set(['node_modules', 'dist', '.git', '.turbo']);

/** Every test file, by its path in the repository. */
export function testFiles(folder = ''): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
    if (entry.isDirectory()) return NOT_OURS.has(entry.name) ? [] : testFiles(path);
    return /\.(test|spec)\.[cm]?[jt]sx?$/.test(entry.name) ? [path] : [];
  });
}

/** Whether `names` contains the file or one of its folders. The name of a folder ends in `/`. */
export function isIn(names: readonly string[], file: string): boolean {
  return names.some((name) => (name.endsWith('/') ? file.startsWith(name) : file === name));
}

/**
 * The texts of a file and of all files that it imports by relative paths, directly or not, except those whose paths
 * match `except`.
 */
export function textsOf(file: string, except?: RegExp, seen: Set<string> = new Set()): string[] {
  const path = [file, file.replace(/\.js$/, '.ts')].find((it) => existsSync(join(ROOT, it)));
  if (path === undefined || seen.has(path) || except?.test(path)) return [];
  seen.add(path);
  const text = readFileSync(join(ROOT, path), 'utf8');
  const beside = [...text.matchAll(/ from '(\.[^']+)'/g)].flatMap(([, name = '']) =>
    textsOf(join(dirname(path), name), except, seen),
  );
  return [text, ...beside];
}

/** The packages that a file, or a file of {@link textsOf}, imports; `'values'` leaves out imports of types. */
export function importsOf(file: string, which: 'all' | 'values' = 'all'): string[] {
  const statement =
    which === 'all'
      ? / from '([^'.][^']*)'/g
      : /^(?:import|export) (?!type )(?:[^;'=]* from )?'([^'.][^']*)'/gm;
  return textsOf(file).flatMap((text) =>
    [...text.matchAll(statement)].map(([, name = '']) => name),
  );
}
