/**
 * A cached result of `npm run typecheck` is never stale: turbo's inputs include every file of ours that the compiler
 * reads.
 */

import { execFileSync } from 'node:child_process';
import { join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from '../packaging/packages.js';

interface Task {
  readonly taskId: string;
  readonly command: string;
  readonly directory: string;
  /** The files that decide whether a cached result is used, by their path from `directory`. */
  readonly inputs: Readonly<Record<string, string>>;
  /** The tasks whose inputs count too. */
  readonly dependencies: readonly string[];
}

const plan = run('turbo/bin/turbo', 'run', 'typecheck', '--dry=json');
const tasks: readonly Task[] = JSON.parse(plan).tasks;
const byId = new Map(tasks.map((task) => [task.taskId, task]));
const typechecks = tasks.filter(({ command }) => command === 'tsc --noEmit');

describe('turbo knows every file that the compiler reads', () => {
  it.each(typechecks.map((task) => [task.taskId, task] as const))('%s', (_, task) => {
    const inputs = inputsOf(task);
    const files = run('typescript/bin/tsc', '--listFilesOnly', '-p', task.directory).split('\n');
    const ours = files
      .filter((file) => file !== '' && !file.includes('node_modules'))
      .map((file) => relative(ROOT, file));
    expect(ours).toContainEqual(expect.stringMatching(`^${task.directory}/`));
    expect(
      [...ours, ...manifestsOf(ours), 'tsconfig.base.json'].filter((file) => !inputs.has(file)),
    ).toEqual([]);
  });
});

/** The inputs of a task and its dependencies, by their path in the repository. */
function inputsOf({ directory, inputs, dependencies }: Task): ReadonlySet<string> {
  const own = Object.keys(inputs).map((file) => join(directory, file));
  const others = dependencies.flatMap((id) => {
    const task = byId.get(id);
    return task ? [...inputsOf(task)] : [];
  });
  return new Set([...own, ...others]);
}

/**
 * The package.json of each package that contains one of the files: its exports determine which file an import means.
 */
function manifestsOf(files: readonly string[]): string[] {
  const folders = files.flatMap((file) => /^packages\/[^/]+/.exec(file) ?? []);
  return [...new Set(folders)].map((folder) => `${folder}/package.json`);
}

function run(program: string, ...args: readonly string[]): string {
  const file = join(ROOT, 'node_modules', program);
  return execFileSync(process.execPath, [file, ...args], {
    cwd: ROOT,
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
  });
}
