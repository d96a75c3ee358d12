/**
 * The command `spillway`. It exits with 0 if it is done, 1 if it failed, for example because Redis is down, and 2 if
 * the command line is wrong.
 */

import { run } from './run.js';

// The reader of a pipe may stop early, as `head` does, which is not an error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});
// The exit code still reports an error that can't be written.
process.stderr.on('error', () => undefined);

process.exitCode = await run(process.argv.slice(2));
// The policy of a replay, or a sentinel that hangs, may have connections or timers that keep the process alive.
// Not before the next turn, in which a stream reports an error of the last write.
const exitSoon = () => setImmediate(() => process.exit());
process.stdout.write('', () => process.stderr.write('', exitSoon));
