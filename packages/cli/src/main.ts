/**
 * The command `spillway`. It exits with 0 if it is done, 1 if it failed, for example because Redis is down, and 2 if
 * the command line is wrong.
 */

import { printError } from './output.js';
import { run } from './run.js';

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // The reader of a pipe may stop early, as `head` does, which is not an error.
  if (error.code === 'EPIPE') process.exit();
  printError(error, process.argv.includes('--json'));
  process.exit(process.exitCode || 1);
});
// The exit code still reports an error that can't be written.
process.stderr.on('error', () => undefined);

process.exitCode = await run(process.argv.slice(2));
// The policy of a replay, or a sentinel that hangs, may have connections or timers that keep the process alive.
// Not before the next turn, in which a stream reports an error of the last write.
const exitSoon = () => setImmediate(() => process.exit());
afterWrites(process.stdout, () => afterWrites(process.stderr, exitSoon));

/** Writes nothing to a stream without pending writes, because a full disk fails even an empty write. */
function afterWrites(stream: NodeJS.WriteStream, then: () => void): void {
  if (stream.writableLength === 0) then();
  else stream.write('', then);
}
