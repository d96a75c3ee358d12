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

function textOf(value: unknown): string {
  if (isThenable(value)) return 'a promise: it must answer at once';
  if (typeof value === 'string' && value.length > SHOWN) return `a text of ${value.length} units`;
  return show(value);
}
