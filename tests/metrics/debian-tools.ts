/**
 * Third-party checkers: from PATH, otherwise extracted from Debian's package into the repository's cache, without
 * installing it.
 */

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const CACHE = join(import.meta.dirname, '..', '..', 'node_modules', '.cache', 'spillway');

/** Each program with the package that has it. */
const PACKAGES = { promtool: 'prometheus', amtool: 'prometheus-alertmanager' } as const;

/** The program; null if it is not available. `SPILLWAY_NO_INSTALL=1` forbids downloading it. */
export function findTool(name: keyof typeof PACKAGES): string | null {
  const cached = join(CACHE, name);
  for (const program of [name, cached]) if (works(program)) return program;
  if (process.env['SPILLWAY_NO_INSTALL'] || !existsSync('/usr/bin/apt-get')) return null;
  console.warn(`No ${name} here: taking it out of the package ${PACKAGES[name]} (20 MB), once.`);
  download(PACKAGES[name], name);
  return works(cached) ? cached : null;
}

/** A program's output, and whether it succeeded. */
export function ask(program: string | null, ...args: string[]): { ok: boolean; said: string } {
  const { status, stdout, stderr } = spawnSync(program ?? '', args, { encoding: 'utf8' });
  return { ok: status === 0, said: stdout + stderr };
}

function works(program: string): boolean {
  return spawnSync(program, ['--version'], { stdio: 'ignore' }).status === 0;
}

function download(from: string, program: string): void {
  const dir = mkdtempSync(join(tmpdir(), 'spillway-tools-'));
  const run = (command: string, ...args: string[]): boolean =>
    spawnSync(command, args, { cwd: dir, stdio: ['ignore', 'ignore', 'inherit'] }).status === 0;
  const fetch = () => run('apt-get', 'download', '-qq', from);
  try {
    const fetched = fetch() || (run('apt-get', 'update', '-qq') && fetch());
    const archive = readdirSync(dir).find((file) => file.endsWith('.deb'));
    if (!fetched || !archive || !run('dpkg-deb', '-x', archive, '.')) return;
    mkdirSync(CACHE, { recursive: true });
    const own = join(CACHE, `${program}.${process.pid}`);
    run('mv', join(dir, 'usr', 'bin', program), own);
    renameSync(own, join(CACHE, program)); // atomically, because other tests may look for it
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
