/** Checks of what kind of thing was given: what TypeScript refuses, and JavaScript lets through. */

import { isPlainObject } from './checks.js';
import { mustBe } from './errors.js';
import { checkNames, type NamesOf, type OtherPlace } from './option-names.js';

/**
 * The options of a function; to be called before any of them is read.
 *
 * @param of how messages call the function, as in `rateLimit()`
 * @param names the options that it has; without them, any are taken
 * @param other a second object of options that it takes
 * @throws SpillwayError `SPW_OPTION_INVALID` for what is no object, `SPW_OPTION_UNKNOWN` for an option that it has not
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

/**
 * An object that is no list.
 *
 * @throws SpillwayError `SPW_OPTION_INVALID`
 */
export function checkObject(option: string, value: unknown): void {
  if (!isPlainObject(value)) throw mustBe(option, 'an object', value);
}

/**
 * A list of objects or words, or undefined.
 *
 * @throws SpillwayError `SPW_OPTION_INVALID`
 */
export function checkList(option: string, list: unknown, what: string): void {
  if (list !== undefined && !Array.isArray(list)) throw mustBe(option, `a list of ${what}`, list);
}

/**
 * An object, or function, with a method of this name; or undefined.
 *
 * @throws SpillwayError `SPW_OPTION_INVALID`
 */
export function checkHas(option: string, method: string, value: unknown): void {
  if (value === undefined) return;
  if (typeof (value as Methods | null)?.[method] !== 'function') {
    throw mustBe(option, `an object with ${method}()`, value);
  }
}

type Methods = { readonly [name: string]: unknown };

/**
 * True, false or undefined.
 *
 * @throws SpillwayError `SPW_OPTION_INVALID`
 */
export function checkFlag(option: string, flag: unknown): void {
  if (flag !== undefined && typeof flag !== 'boolean') throw mustBe(option, 'true or false', flag);
}
