/** Prometheus' own checker: on PATH, else taken out of Debian's package into the repository's cache, without installing it. */

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const CACHE = join(import.meta.dirname, '..', '..', 'node_modules', '.cache', 'spillway');
const CACHED = join(CACHE, 'promtool');

/** The program; null where it cannot be had. `SPILLWAY_NO_INSTALL=1` forbids to download it. */
export function findPromtool(): string | null {
  for (const program of ['promtool', CACHED]) if (works(program)) return program;
  if (process.env['SPILLWAY_NO_INSTALL'] || !existsSync('/usr/bin/apt-get')) return null;
  console.warn('No promtool here: taking it out of the package prometheus (19 MB), once.');
  download();
  return works(CACHED) ? CACHED : null;
}

/** What promtool says, and whether it is content. */
export function promtool(program: string, ...args: string[]): { ok: boolean; said: string } {
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8' });
  return { ok: status === 0, said: stdout + stderr };
}

function works(program: string): boolean {
  return spawnSync(program, ['--version'], { stdio: 'ignore' }).status === 0;
}

function download(): void {
  const dir = mkdtempSync(join(tmpdir(), 'spillway-promtool-'));
  const run = (command: string, ...args: string[]): boolean =>
    spawnSync(command, args, { cwd: dir, stdio: ['ignore', 'ignore', 'inherit'] }).status === 0;
  try {
    const fetched =
      run('apt-get', 'download', '-qq', 'prometheus') ||
      (run('apt-get', 'update', '-qq') && run('apt-get', 'download', '-qq', 'prometheus'));
    const archive = readdirSync(dir).find((file) => file.endsWith('.deb'));
    if (!fetched || !archive || !run('dpkg-deb', '-x', archive, '.')) return;
    mkdirSync(CACHE, { recursive: true });
    run('mv', join(dir, 'usr', 'bin', 'promtool'), `${CACHED}.new`);
    renameSync(`${CACHED}.new`, CACHED); // at once: others may look for it
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
