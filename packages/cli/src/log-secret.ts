import { readFileSync } from 'node:fs';
import { UsageError } from './usage-error.js';

export interface SecretOptions {
  readonly secretFile?: string;
}

export const SECRET_FILE = '--secret-file <path>';
export const SECRET_HELP = 'a file with the secret (default: SPILLWAY_LOG_SECRET)';

/**
 * Reads the secret from a file or the environment, never from an argument, which other users of the machine can see.
 *
 * @param hint what to do without a secret
 * @throws UsageError if there is no secret; Error if the file can't be read
 */
export function logSecret({ secretFile }: SecretOptions, hint = ''): string {
  const secret =
    secretFile === undefined
      ? process.env['SPILLWAY_LOG_SECRET']
      : readFileSync(secretFile, 'utf8').replace(/\r?\n$/, '');
  if (secret) return secret;
  throw new UsageError(
    'which secret? Set SPILLWAY_LOG_SECRET to the secret of decisionLog or topCallers, or say --secret-file <path>' +
      hint,
  );
}
