import { checkFlag } from '../base/check-shapes.js';
import { isPlainObject } from '../base/checks.js';
import { helpFor, mustBe } from '../base/errors.js';
import { getOrMake } from '../base/get-or-make.js';
import { consoleLogger, type Logger } from '../base/host.js';
import { RecentSubjects, warn } from '../base/log.js';
import { checkNames } from '../base/option-names.js';
import { NOTICE_CODES, type NoticeCode, type Validate } from '../contract/observer.js';

interface NoticesOptions {
  readonly logger?: Logger | false | undefined;
  readonly validate?: Validate | undefined;
}

/** Guards and limiters that share a logger don't repeat each other's lines. */
export class Notices {
  private readonly logger: Logger | false;
  private readonly validate: Validate;

  constructor({ logger = consoleLogger(), validate = true }: NoticesOptions) {
    this.logger = logger;
    this.validate = validate;
  }

  reports(code: NoticeCode): boolean {
    const { logger, validate } = this;
    return logger !== false && (typeof validate === 'object' ? validate[code] : validate) !== false;
  }

  /** Counts an occurrence, and returns the number so far; 0 without a logger. Some mistakes show only by repetition. */
  count(code: NoticeCode, of: string): number {
    if (!this.logger) return 0;
    const times = getOrMake(known, this.logger, () => new RecentSubjects<number>());
    const reason = `${code} ${of}`;
    const count = (times.get(reason) ?? 0) + 1;
    times.set(reason, count);
    return count;
  }

  /**
   * Logs a line once for each code and `of`; again only if the logger has had 1,000 others since. Never throws.
   *
   * @param of names the limiter or guard that the line is about; empty for the whole app
   */
  tell(code: NoticeCode, message: string, of = ''): void {
    const { logger } = this;
    if (!logger || !this.reports(code) || this.count(code, of) > 1) return;
    const named = message.includes(code) ? message : `${message} (${code})`;
    warn(logger, `${named}. See ${helpFor(code)}`);
  }
}

/** Occurrences are counted by logger and not by guard, because an app may create a guard per request. */
const known = new WeakMap<Logger, RecentSubjects<number>>();

export function checkValidate(validate: unknown): void {
  if (validate === undefined || typeof validate === 'boolean') return;
  if (!isPlainObject(validate)) {
    throw mustBe(
      'validate',
      'true, false, or an object such as { SPW_WINDOW_SHORT: false }',
      validate,
    );
  }
  checkNames('validate', validate, NOTICE_CODES);
  for (const [code, value] of Object.entries(validate)) checkFlag(`validate.${code}`, value);
}
