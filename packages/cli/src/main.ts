#!/usr/bin/env node
/** The command `spillway`. Exit codes: 0 done, 1 Redis did not do it, 2 the command is wrong. */

import { run } from './run.js';

// Who reads a pipe may stop before its end, as `head` does.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});
// The exit code still tells of the error.
process.stderr.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

process.exitCode = await run(process.argv.slice(2));
