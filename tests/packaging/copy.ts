/** A copy of this repository that is versioned and packed as a release is, while the repository stays as it is. */

import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { execute } from './execute.js';
import { packAll } from './pack.js';
import { publicFolders, ROOT, readManifest } from './packages.js';

export interface Copy {
  readonly dir: string;
  /** The folders of the public packages, by their place in the copy: `packages/core`. */
  readonly folders: readonly string[];
  read(path: string): string;
  /** `changeset version`, as the release workflow calls it. */
  version(): Promise<void>;
  /** Packs every public package. Returns the paths of the tarballs by the names of the packages. */
  pack(): Promise<Readonly<Record<string, string>>>;
  remove(): void;
}

export async function copyRepository(): Promise<Copy> {
  const dir = mkdtempSync(join(tmpdir(), 'spillway-release-'));
  const folders = publicFolders().map((folder) => `packages/${basename(folder)}`);
  const listed = await execute(
    'git',
    ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '--deduplicate'],
    ROOT,
  );
  const files = listed.split('\0').filter((path) => path !== '');
  for (const path of files) copyInto(dir, path);
  // What was built, and the links of the packages to one another, which then lead to the copies.
  for (const folder of folders) {
    for (const name of ['dist', 'node_modules']) copyInto(dir, `${folder}/${name}`);
  }
  symlinkSync(join(ROOT, 'node_modules'), join(dir, 'node_modules'));

  const read: Copy['read'] = (path) => readFileSync(join(dir, path), 'utf8');
  return {
    dir,
    folders,
    read,
    // changesets asks git which commit brought a changeset.
    async version() {
      const author = ['-c', 'user.name=release', '-c', 'user.email=release@localhost'];
      await execute('git', ['init', '--quiet', '--initial-branch=main'], dir);
      await execute('git', ['add', '--all'], dir);
      const commit = ['commit', '--quiet', '--no-verify', '--message', 'As it is'];
      await execute('git', [...author, '-c', 'commit.gpgsign=false', ...commit], dir);
      await execute('changeset', ['version'], dir);
    },
    pack() {
      const names = folders.map((folder) => readManifest(join(dir, folder)).name);
      return packAll(names, join(dir, 'tarballs'), dir);
    },
    remove: () => rmSync(dir, { recursive: true, force: true }),
  };
}

/** Copies a file or folder of the repository, links as links; what is listed but gone is left out. */
function copyInto(dir: string, path: string): void {
  mkdirSync(dirname(join(dir, path)), { recursive: true });
  try {
    cpSync(join(ROOT, path), join(dir, path), { recursive: true, verbatimSymlinks: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}
