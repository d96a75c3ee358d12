#!/usr/bin/env node
/** The command `spillway`. Exit codes: 0 done, 1 Redis did not do it, 2 the command is wrong. */

import { run } from './run.js';

process.exitCode = await run(process.argv.slice(2));
