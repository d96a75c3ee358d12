/** The error for an invalid return value of a user's callback. */

import { show } from './errors.js';
import { isThenable } from './host.js';

const SHOWN = 60;

/** @param what the callback, as in `key of limiter "api"` */
export class Junk extends TypeError {
  constructor(what: string, value: unknown) {
    super(`${what} returned ${textOf(value)}`);
  }
}

function textOf(value: unknown): string {
  const text = show(value);
  if (isThenable(value)) return 'a promise: it must return the value itself';
  const isLong = typeof value === 'string' && value.length > SHOWN;
  return isLong ? `a string of length ${value.length}` : text;
}
