import { isSpillwayError } from '@spillway/core';
import { CommanderError } from 'commander';
import { printError } from './output.js';
import { makeProgram } from './program.js';
import { UsageError } from './usage-error.js';

const DONE = 0;
const FAILED = 1;
const WRONG = 2;

export async function run(args: readonly string[]): Promise<number> {
  const json = args.includes('--json');
  try {
    await makeProgram(json).parseAsync(args, { from: 'user' });
    return DONE;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return DONE;
    // Without JSON, commander has already printed what is wrong.
    if (json || !(error instanceof CommanderError)) printError(error, json);
    return isWrongUse(error) ? WRONG : FAILED;
  }
}

function isWrongUse(error: unknown): boolean {
  if (error instanceof UsageError || error instanceof CommanderError) return true;
  return isSpillwayError(error) && !error.code.startsWith('SPW_STORE_');
}
