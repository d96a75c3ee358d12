import { decisionLog } from '@spillway/core';
import type { Command } from 'commander';
import { addressed, examples } from './command-options.js';
import { type KeyOptions, keyFrom } from './keys.js';
import { logSecret, SECRET_FILE, SECRET_HELP, type SecretOptions } from './log-secret.js';
import { print, printJson } from './output.js';

interface HashOptions extends KeyOptions, SecretOptions {
  readonly json?: true;
}

const RANDOM =
  '. Without a secret, each process makes its own, and only its log.hashOf(key) returns its hashes';

export function addHash(program: Command): void {
  const command = addressed(
    program
      .command('hash')
      .description('print the keyHash of a key, to find its lines in the decision log')
      .argument('[key]', 'as the limiter counts it'),
  )
    .option(SECRET_FILE, SECRET_HELP)
    .option('--json', 'print JSON')
    .action(printHash);
  examples(command, 'hash acme', 'hash --address 203.0.113.7 --secret-file /run/secrets/log');
}

function printHash(key: string | undefined, options: HashOptions): void {
  const counted = keyFrom(key, options);
  const keyHash = decisionLog({ write: () => {}, secret: logSecret(options, RANDOM) }).hashOf(
    counted,
  );
  if (options.json) printJson({ key: counted, keyHash });
  else print(keyHash);
}
