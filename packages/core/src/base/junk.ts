/** The error for an invalid return value of a user's callback. */

import { show } from './errors.js';
import { disregard, isThenable } from './host.js';

const SHOWN = 60;

/** @param what the callback, as in `key of limiter "api"` */
export class Junk extends TypeError {
  constructor(what: string, value: unknown) {
    super(`${what} returned ${textOf(value)}`);
    disregard(value);
  }
}

function textOf(value: unknown): string {
  if (isThenable(value)) return 'a promise: it must return the value itself';
  if (typeof value === 'string' && value.length > SHOWN) {
    return `a string of length ${value.length}`;
  }
  return show(value);
}
