/** Checks the types of options for JavaScript callers, whose code the compiler doesn't check. */

import { isPlainObject } from './checks.js';
import { mustBe } from './errors.js';
import { checkNames, type NamesOf, type OtherPlace } from './option-names.js';

/**
 * Checks that options are an object without unknown names. Call it before you read any option.
 *
 * @param of the function's name in messages, as in `rateLimit()`
 * @param names the known options; if omitted, any names are accepted
 * @param other a second object of options that the function takes
 * @throws SpillwayError `SPW_OPTION_INVALID` if `options` is not an object, `SPW_OPTION_UNKNOWN` for an unknown name
 * @example
 * ```ts
 * import { checkOptions, type NamesOf } from '@spillway/core/adapter';
 *
 * interface Options {
 *   readonly colour?: string;
 * }
 * const NAMES: NamesOf<Options> = { colour: 1 };
 * export function paint(options: Options = {}): void {
 *   checkOptions(options, 'paint()', NAMES); // paint({ color: 'red' }) throws: did you mean "colour"?
 * }
 * ```
 */
export function checkOptions<Options>(
  options: Options,
  of = '',
  names?: NamesOf<Options>,
  other?: OtherPlace,
): void {
  checkObject('options', options);
  if (names) checkNames(of, options as object, names, other);
}

export function checkObject(option: string, value: unknown): void {
  if (!isPlainObject(value)) throw mustBe(option, 'an object', value);
}

export function checkList(option: string, list: unknown, what: string): void {
  if (list !== undefined && !Array.isArray(list)) throw mustBe(option, `a list of ${what}`, list);
}

/** @throws SpillwayError `SPW_OPTION_INVALID` for a value that is not undefined and lacks the method */
export function checkHas(option: string, method: string, value: unknown): void {
  if (value === undefined) return;
  if (typeof (value as Methods | null)?.[method] !== 'function') {
    throw mustBe(option, `an object with ${method}()`, value);
  }
}

type Methods = { readonly [name: string]: unknown };

/** @throws SpillwayError `SPW_OPTION_INVALID` for a value that is neither a boolean nor undefined */
export function checkFlag(option: string, flag: unknown): void {
  if (flag !== undefined && typeof flag !== 'boolean') throw mustBe(option, 'true or false', flag);
}
