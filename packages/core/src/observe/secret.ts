import { SpillwayError } from '../base/errors.js';

const SHORTEST_SECRET = 16;

/** Checks the option `secret`. The error message must not show the secret. */
export function checkSecret(secret: string | undefined): void {
  if (secret === undefined || (typeof secret === 'string' && secret.length >= SHORTEST_SECRET))
    return;
  throw new SpillwayError(
    'SPW_OPTION_INVALID',
    `secret must be a string of at least ${SHORTEST_SECRET} characters`,
  );
}
