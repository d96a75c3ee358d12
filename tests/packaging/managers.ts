/** The package managers that our users have, and an empty app into which each installs our tarballs. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execute } from './execute.js';
import { ROOT } from './packages.js';

/** Names of packages, and the version or the tarball to install. */
export type Wanted = Readonly<Record<string, string>>;

export interface Manager {
  readonly name: string;
  /** Files beside package.json that it reads; `registry` is where npm looks for packages. */
  files?(registry: string): Readonly<Record<string, string>>;
  /** The field of package.json that says where our packages are, because they depend on each other. */
  overrides?(ours: Wanted): object;
  readonly install: readonly string[];
  /** The command before a file of the app, and the one before a program that a package brings. */
  readonly node: readonly string[];
  readonly program: readonly string[];
}

const YARN = ['npx', '--yes', 'yarn@1.22.22'];
const BERRY = ['npx', '--yes', '@yarnpkg/cli-dist@4.18.1'];

export const MANAGERS: readonly Manager[] = [
  {
    name: 'npm',
    install: ['npm', 'install', '--no-audit', '--no-fund', '--prefer-offline', '--ignore-scripts'],
    node: ['node'],
    program: ['npm', 'exec', '--offline', '--'],
  },
  {
    name: 'pnpm',
    overrides: (ours) => ({ pnpm: { overrides: ours } }),
    install: ['pnpm', 'install', '--prefer-offline', '--ignore-scripts', '--no-frozen-lockfile'],
    node: ['node'],
    program: ['pnpm', 'exec'],
  },
  {
    name: 'yarn 1',
    files: (registry) => ({ '.yarnrc': `registry "${registry}"\n` }),
    overrides: (ours) => ({ resolutions: ours }),
    // Only this manager fails if a dependency requires a newer Node, and some dependencies of frameworks do.
    install: [...YARN, 'install', '--ignore-engines', '--ignore-scripts', '--no-lockfile'],
    node: ['node'],
    program: [...YARN, '--silent', 'run'],
  },
  {
    // Plug'n'Play: a package sees only what its manifest names.
    name: 'yarn 4',
    files: (registry) => ({
      '.yarnrc.yml': [
        `npmRegistryServer: "${registry}"`,
        `unsafeHttpWhitelist: ["${new URL(registry).hostname}"]`,
        'enableTelemetry: false',
        'enableScripts: false',
        'enableImmutableInstalls: false',
        'nodeLinker: pnp',
      ].join('\n'),
      'yarn.lock': '',
    }),
    overrides: (ours) => ({ resolutions: ours }),
    install: [...BERRY, 'install'],
    node: [...BERRY, 'node'],
    program: [...BERRY, 'run'],
  },
];

export interface App {
  /** Runs a file of the app with Node and parses what it prints as JSON. */
  run<T>(file: string): Promise<T>;
  /** Runs a program that a package brings, and returns what it prints. */
  program(name: string, ...args: string[]): Promise<string>;
  remove(): void;
}

/**
 * An app with these files, into which `ours` and `others` are installed. Its package.json names only those of `ours`
 * that are in `named`.
 */
export async function install(
  manager: Manager,
  ours: Wanted,
  others: Wanted,
  files: Readonly<Record<string, string>>,
  named: readonly string[] = Object.keys(ours),
): Promise<App> {
  const dir = mkdtempSync(join(tmpdir(), 'spillway-app-'));
  const registry = (await execute('npm', ['config', 'get', 'registry'], ROOT)).trim();
  const manifest = {
    name: 'app',
    private: true,
    dependencies: { ...others, ...Object.fromEntries(named.map((name) => [name, ours[name]])) },
    ...manager.overrides?.(ours),
  };
  const written = {
    'package.json': JSON.stringify(manifest),
    ...manager.files?.(registry),
    ...files,
  };
  for (const [path, text] of Object.entries(written)) writeFileSync(join(dir, path), text);
  const call = ([command = '', ...args]: readonly string[], ...more: string[]): Promise<string> =>
    execute(command, [...args, ...more], dir);
  await call(manager.install);
  return {
    run: async <T>(file: string) => JSON.parse(await call(manager.node, file)) as T,
    program: (name, ...args) => call(manager.program, name, ...args),
    remove: () => rmSync(dir, { recursive: true, force: true }),
  };
}
