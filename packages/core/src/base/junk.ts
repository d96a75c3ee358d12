/** What a callback of yours should not have returned, as an error. */

import { show } from './errors.js';
import { disregard, isThenable } from './host.js';

/** Longer texts are told by their length. */
const SHOWN = 60;

/** Named by the callback, as in `key of limiter "api"`. A promise is disregarded: that it may reject harms nobody. */
export class Junk extends TypeError {
  constructor(what: string, value: unknown) {
    super(`${what} returned ${textOf(value)}`);
    disregard(value);
  }
}

/**
 * A verdict that must be plain: only `true` counts as yes. Throws {@link Junk} for anything but `true`, `false` and
 * `undefined`.
 */
export function isTrue(what: string, value: unknown): boolean {
  if (value === true || value === false || value === undefined) return value === true;
  throw new Junk(what, value);
}

function textOf(value: unknown): string {
  if (isThenable(value)) return 'a promise: functions are synchronous';
  if (typeof value === 'string' && value.length > SHOWN) return `a text of ${value.length} units`;
  return show(value);
}
