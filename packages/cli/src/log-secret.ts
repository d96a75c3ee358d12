import { readFileSync } from 'node:fs';
import { UsageError } from './usage-error.js';

export interface SecretOptions {
  readonly secretFile?: string;
}

export const SECRET_FILE = '--secret-file <path>';
export const SECRET_HELP = 'a file with the secret (default: SPILLWAY_LOG_SECRET)';

/**
 * Reads no argument, because other users of the machine can see arguments.
 *
 * @param hint what to do without a secret
 * @throws UsageError
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
