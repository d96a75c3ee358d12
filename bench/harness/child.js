/** A child process that answers calls. Each runs one contender, so none affects the compiled code of another. */

import { fork, spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';

/** Whether processes can be bound to a core. */
export const canPin =
  availableParallelism() > 1 && spawnSync('taskset', ['-p', `${process.pid}`]).status === 0;

/** Binds a process and its threads to one core, if possible. */
export function pin(pid, core) {
  if (canPin) spawnSync('taskset', ['-a', '-c', '-p', `${core}`, `${pid}`]);
}

/** Starts `module`, relative to `base`. Returns functions to call it and to end it. */
export function startChild(base, module, { args = [], execArgv = [], core } = {}) {
  const path = fileURLToPath(new URL(module, base));
  const child = fork(path, args, { execArgv, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  if (core !== undefined) pin(child.pid, core);
  const gone = new Promise((_, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`${module} ${args.join(' ')} ended: ${code}`)));
  });
  gone.catch(() => undefined);
  return {
    pid: child.pid,
    call(...message) {
      const answer = new Promise((resolve) => child.once('message', resolve));
      child.send(message);
      return Promise.race([answer, gone]);
    },
    end() {
      child.removeAllListeners('exit');
      child.kill('SIGKILL');
    },
  };
}

/** In the child: answers calls of `methods` by name, one at a time. */
export function answerCalls(methods) {
  process.on('message', async ([name, ...args]) =>
    process.send((await methods[name](...args)) ?? null),
  );
  process.on('disconnect', () => process.exit());
}
