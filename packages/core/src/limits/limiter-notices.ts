/** What may be a mistake in how a limiter was made: known when it is made, told by its guard. */

import type { Duration } from '../base/duration.js';
import type { Notice } from '../contract/observer.js';

const SECOND_MS = 1_000;

/** The files, on a stack, of the functions that call handlers: of Express 4 and 5, Koa, Hono, Fastify, NestJS, Node. */
const IN_HANDLER =
  /router.(lib.)?layer\.js|koa-compose.index|hono.dist.(cjs.)?(compose|hono-base)|fastify.lib.handle-?request|core.router.router-(execution-context|proxy)|parserOnIncoming/i;

export const MADE_IN_HANDLER: Notice = {
  code: 'SPW_MADE_IN_HANDLER',
  message:
    'limiters are made while requests are handled, and each begins at zero: make them once, outside of handlers',
};

/** All there is to tell of a limiter with this `window`, but for its key. */
export function noticesOn(name: string, window?: Duration): readonly Notice[] {
  const notices = [...shortWindow('limiter', name, window)];
  if (IN_HANDLER.test(String(new Error().stack))) notices.push(MADE_IN_HANDLER);
  return notices;
}

/** A number below a second was most often meant in seconds. Who writes the unit, as in `'500ms'`, means it. */
export function shortWindow(what: string, name: string, window?: Duration): readonly Notice[] {
  if (typeof window !== 'number' || window >= SECOND_MS) return [];
  const message = `the window of ${what} "${name}" is ${window} ms: a number means milliseconds, '${window}s' means seconds`;
  return [{ code: 'SPW_WINDOW_SHORT', message }];
}
