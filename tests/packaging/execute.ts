/** Runs a command as a user would: in an environment that has nothing of the test runner. */

import { execFile } from 'node:child_process';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from './packages.js';

const exec = promisify(execFile);

/** What the command prints; rejects if it fails. `more` is added to its environment. */
export async function execute(
  command: string,
  args: readonly string[],
  cwd: string,
  more: NodeJS.ProcessEnv = {},
): Promise<string> {
  const env = { ...cleanEnvironment(), ...more };
  const { stdout } = await exec(command, args, { cwd, env, maxBuffer: 16e6 });
  return stdout;
}

/**
 * A user's environment, without anything of the test runner, which would lend the project this repository's modules.
 * Its PATH also has the programs of this repository.
 */
function cleanEnvironment(): NodeJS.ProcessEnv {
  const bin = join(ROOT, 'node_modules', '.bin');
  const env: NodeJS.ProcessEnv = {
    ...process.env,
    PATH: `${bin}${delimiter}${process.env['PATH']}`,
  };
  for (const name of Object.keys(env)) {
    const ofRunner =
      /^(NODE_PATH|NODE_OPTIONS|NODE_ENV|INIT_CWD|VITEST.*|npm_(package|lifecycle)_.*)$/;
    if (ofRunner.test(name) || name === 'npm_config_local_prefix') delete env[name];
  }
  return env;
}
