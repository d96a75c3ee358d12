import { checkOptions, mustBe, type NamesOf } from '@spillway/core/adapter';
import { checkCallback, checkFlag, checkHas } from '@spillway/core/direct';

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
  const { coalesce, reconnect, hashKeys, logger, onFault } = options;
  checkFlag('coalesce', coalesce);
  checkFlag('reconnect', reconnect);
  // The value may be a secret, so the message shows only its type.
  if (hashKeys !== undefined && typeof hashKeys !== 'string' && !(hashKeys instanceof Uint8Array)) {
    throw mustBe('hashKeys', 'a secret, as a string or bytes', typeof hashKeys);
  }
  if (logger !== false) checkHas('logger', 'warn', logger);
  checkCallback('onFault', onFault);
}
