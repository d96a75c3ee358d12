/** The command that prints the hash of a key in the decision log. */

import { readFileSync } from 'node:fs';
import { decisionLog } from '@spillway/core';
import type { Command } from 'commander';
import { addressed, examples } from './command-options.js';
import { type KeyOptions, keyFrom } from './keys.js';
import { print, printJson } from './output.js';
import { UsageError } from './usage-error.js';

interface HashOptions extends KeyOptions {
  readonly secretFile?: string;
  readonly json?: true;
}

export function addHash(program: Command): void {
  const command = addressed(
    program
      .command('hash')
      .description('print the keyHash of a key, to find its lines in the decision log')
      .argument('[key]', 'as the limiter counts it'),
  )
    .option(
      '--secret-file <path>',
      'a file with the secret of decisionLog (default: SPILLWAY_LOG_SECRET)',
    )
    .option('--json', 'print JSON')
    .action(printHash);
  examples(command, 'hash acme', 'hash --address 203.0.113.7 --secret-file /run/secrets/log');
}

function printHash(key: string | undefined, options: HashOptions): void {
  const counted = keyFrom(key, options);
  const keyHash = decisionLog({ write: () => {}, secret: secretOf(options) }).hashOf(counted);
  if (options.json) printJson({ key: counted, keyHash });
  else print(keyHash);
}

/** The secret is never an argument: other users of the machine could see it. */
function secretOf({ secretFile }: HashOptions): string {
  const secret =
    secretFile === undefined
      ? process.env['SPILLWAY_LOG_SECRET']
      : readFileSync(secretFile, 'utf8').replace(/\r?\n$/, '');
  if (secret) return secret;
  throw new UsageError(
    'the secret is missing: set SPILLWAY_LOG_SECRET to the secret of decisionLog, or add --secret-file <path>. If your ' +
      'decisionLog has no secret, each process makes one, and only its log.hashOf(key) can compute its hashes',
  );
}
