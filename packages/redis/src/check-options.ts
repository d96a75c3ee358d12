import { checkOptions, mustBe, type NamesOf } from '@spillway/core/adapter';

interface Shared {
  readonly coalesce?: unknown;
  readonly reconnect?: unknown;
  readonly hashKeys?: unknown;
  readonly logger?: unknown;
  readonly onFault?: unknown;
}

/** Checks the options of a function, whose name `of` appears in error messages. */
export function checkRedisOptions<Options extends Shared>(
  options: Options,
  of: string,
  names: NamesOf<Options>,
): void {
  checkOptions(options, of, names);
  for (const flag of ['coalesce', 'reconnect'] as const) {
    const value = options[flag];
    if (value !== undefined && typeof value !== 'boolean') {
      throw mustBe(flag, 'true or false', value);
    }
  }
  const { hashKeys, logger, onFault } = options;
  // The value may be a secret, so the message shows only its type.
  if (hashKeys !== undefined && !isSecret(hashKeys)) {
    throw mustBe('hashKeys', 'a secret, as a string or bytes', typeof hashKeys);
  }
  if (logger !== undefined && logger !== false && !isLogger(logger)) {
    throw mustBe('logger', 'an object with warn()', logger);
  }
  if (onFault !== undefined && typeof onFault !== 'function') {
    throw mustBe('onFault', 'a function', onFault);
  }
}

function isSecret(value: unknown): boolean {
  return typeof value === 'string' || value instanceof Uint8Array;
}

function isLogger(value: unknown): boolean {
  return typeof (value as { warn?: unknown } | null)?.warn === 'function';
}
