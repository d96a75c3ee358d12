/** Logs what may be a mistake in how an app is put together: one line for each code and limiter, once. */

import { checkFlag } from '../base/check-shapes.js';
import { isPlainObject } from '../base/checks.js';
import { helpFor, mustBe } from '../base/errors.js';
import { consoleLogger, type Logger } from '../base/host.js';
import { Remembered, warn } from '../base/log.js';
import { checkNames, type NamesOf } from '../base/option-names.js';
import type { NoticeCode, Validate } from '../contract/observer.js';

const CODES: NamesOf<{ readonly [Code in NoticeCode]: unknown }> = {
  SPW_ADDRESS_UNKNOWN: 1,
  SPW_CIDR_INVALID: 1,
  SPW_COUNTED_TWICE: 1,
  SPW_FORWARDED_UNTRUSTED: 1,
  SPW_GUARD_UNUSED: 1,
  SPW_KEY_CONSTANT: 1,
  SPW_KEY_MISREAD: 1,
  SPW_KEY_RAW_ADDRESS: 1,
  SPW_MADE_IN_HANDLER: 1,
  SPW_REGISTERED_TWICE: 1,
  SPW_SHADOW_IN_PRODUCTION: 1,
  SPW_STORE_MISSING: 1,
  SPW_TRUST_PROXY_INVALID: 1,
  SPW_TRUST_PROXY_UNSAFE: 1,
  SPW_WINDOW_SHORT: 1,
};

/** Who is told, and of what. */
interface NoticesOptions {
  readonly logger?: Logger | false | undefined;
  readonly validate?: Validate | undefined;
}

/** Notices of one guard, or of limits without HTTP. Those that share a logger share what was told. */
export class Notices {
  private readonly logger: Logger | false;
  private readonly validate: Validate;

  /** @param options those of the guard, of which `logger` and `validate` count */
  constructor({ logger = consoleLogger(), validate = true }: NoticesOptions) {
    this.logger = logger;
    this.validate = validate;
  }

  /** Whether a line with this code would be written. */
  hears(code: NoticeCode): boolean {
    const { logger, validate } = this;
    return logger !== false && (typeof validate === 'object' ? validate[code] : validate) !== false;
  }

  /** Counts a reason for a line, for what may be right once; answers how often there was this one by now. */
  count(code: NoticeCode, of: string): number {
    return this.logger ? countIn(this.logger, `${code} ${of}`) : 0;
  }

  /**
   * Logs what is wrong in one line, the first time that it comes. Never throws.
   *
   * @param of the limiter or guard that it is about; left out for what is about the whole app
   */
  tell(code: NoticeCode, message: string, of = ''): void {
    const { logger } = this;
    if (!logger || !this.hears(code) || this.count(code, of) > 1) return;
    const named = message.includes(code) ? message : `${message} (${code})`;
    warn(logger, `${named}. See ${helpFor(code)}`);
  }
}

/** By logger: there may be many guards, and perhaps a new one at each request. */
const known = new WeakMap<Logger, Remembered<number>>();

function countIn(logger: Logger, reason: string): number {
  const times = known.get(logger) ?? new Remembered<number>();
  known.set(logger, times);
  const count = (times.get(reason) ?? 0) + 1;
  times.set(reason, count);
  return count;
}

/**
 * The option `validate`.
 *
 * @throws SpillwayError `SPW_OPTION_INVALID`, and `SPW_OPTION_UNKNOWN` for what is no code of a line
 */
export function checkValidate(validate: unknown): void {
  if (validate === undefined || typeof validate === 'boolean') return;
  if (!isPlainObject(validate)) {
    throw mustBe('validate', 'true, false, or as in { SPW_WINDOW_SHORT: false }', validate);
  }
  checkNames('validate', validate, CODES);
  for (const [code, value] of Object.entries(validate)) checkFlag(`validate.${code}`, value);
}
