/** A user's project in a temporary folder, into which the packed packages are installed as from the registry. */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { execute } from './execute.js';
import { packAll } from './pack.js';
import { type PublicPackage, pin, ROOT } from './packages.js';

export interface Project {
  readonly dir: string;
  /** Writes files, by path in the project. */
  write(files: Readonly<Record<string, string>>): void;
  /** Runs a file of the project with Node and parses what it prints as JSON. */
  run<T>(file: string, ...options: string[]): Promise<T>;
  /**
   * Type-checks with the compiler that is installed in `compilerIn`, by default this repository's. Returns the
   * compiler's messages, empty if all is well.
   */
  typeCheck(tsconfig: string, compilerIn?: string): Promise<string>;
  remove(): void;
}

export async function installPacked(packages: readonly PublicPackage[]): Promise<Project> {
  const dir = mkdtempSync(join(tmpdir(), 'spillway-packaging-'));
  const write: Project['write'] = (files) => {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(dir, path)), { recursive: true });
      writeFileSync(join(dir, path), text);
    }
  };
  write({ 'package.json': JSON.stringify({ name: 'consumer', private: true, type: 'module' }) });

  const names = packages.map(({ name }) => name);
  const packed = Object.values(await packAll(names, join(dir, 'tarballs'), ROOT));
  const peers = new Set([pin(ROOT, '@types/node'), ...packages.flatMap((p) => p.peers)]);
  const flags = ['--no-audit', '--no-fund', '--prefer-offline', '--ignore-scripts'];
  await execute('npm', ['install', ...flags, ...packed, ...peers], dir);

  return {
    dir,
    write,
    async run<T>(file: string, ...options: string[]): Promise<T> {
      return JSON.parse(await execute(process.execPath, [...options, file], dir)) as T;
    },
    async typeCheck(tsconfig: string, compilerIn: string = ROOT): Promise<string> {
      const tsc = join(compilerIn, 'node_modules', 'typescript', 'bin', 'tsc');
      try {
        return await execute(process.execPath, [tsc, '-p', tsconfig], dir);
      } catch (error) {
        return (error as { stdout: string }).stdout;
      }
    },
    remove: () => rmSync(dir, { recursive: true, force: true }),
  };
}
