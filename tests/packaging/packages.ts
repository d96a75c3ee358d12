/** The public packages of this repository: where they are, what they export, what they need beside them. */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

export const ROOT: string = join(import.meta.dirname, '..', '..');

export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly private?: boolean;
  readonly description?: string;
  readonly keywords?: readonly string[];
  readonly sideEffects?: boolean;
  readonly type?: string;
  readonly exports: Readonly<Record<string, unknown>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

export interface PublicPackage {
  readonly name: string;
  readonly dir: string;
  /** What a user writes to import each entry: `@spillway/core`, `@spillway/core/testing`. */
  readonly entries: readonly string[];
  /** Peers at the version that this repository is developed with, as npm writes them: `express@5.3.0`. */
  readonly peers: readonly string[];
}

export function publicPackages(): PublicPackage[] {
  return publicFolders().map(describePackage);
}

/** The folders of the packages that users install, sorted; a private package is for tests. */
export function publicFolders(): string[] {
  const folders = readdirSync(join(ROOT, 'packages')).map((name) => join(ROOT, 'packages', name));
  return folders
    .filter((dir) => existsSync(join(dir, 'package.json')) && !readManifest(dir).private)
    .sort();
}

export function readManifest(dir: string): Manifest {
  return JSON.parse(readFileSync(join(dir, 'package.json'), 'utf8')) as Manifest;
}

function describePackage(dir: string): PublicPackage {
  const manifest = readManifest(dir);
  if (!existsSync(join(dir, 'dist'))) {
    throw new Error(`${manifest.name} is not built: run "npm run build" (npm test does it first)`);
  }
  const entries = Object.keys(manifest.exports)
    .filter((path) => path !== './package.json')
    .map((path) => manifest.name + path.slice(1));
  const peers = Object.keys(manifest.peerDependencies ?? {}).map((peer) => pin(dir, peer));
  return { name: manifest.name, dir, entries, peers };
}

/**
 * `name@version` as it is installed for the package or the repository in `dir`; of an alias, such as `redis5`, the
 * alias and what it stands for.
 */
export function pin(dir: string, name: string): string {
  const folders = createRequire(join(dir, 'package.json')).resolve.paths(name) ?? [];
  const found = folders.map((folder) => join(folder, name)).find((path) => existsSync(path));
  if (!found) throw new Error(`${name}, a peer of ${dir}, is not installed here`);
  const { name: own, version } = readManifest(found);
  return own === name ? `${name}@${version}` : `${name}@npm:${own}@${version}`;
}
