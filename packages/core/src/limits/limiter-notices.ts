import type { Notice } from '../contract/observer.js';

const SECOND_MS = 1_000;

/** Files that call handlers, in stack traces of Express 4 and 5, Koa, Hono, Fastify, NestJS and Node. */
const IN_HANDLER =
  /router.(lib.)?layer\.js|koa-compose.index|hono.dist.(cjs.)?(compose|hono-base)|fastify.lib.handle-?request|core.router.router-(execution-context|proxy)|parserOnIncoming/i;

export const MADE_IN_HANDLER: Notice = {
  code: 'SPW_MADE_IN_HANDLER',
  message:
    'limiters are created in request handlers, and each starts at zero: create them once, outside of handlers',
};

export function noticesOn(name: string, window?: unknown): readonly Notice[] {
  const notices = [...shortWindow('limiter', name, window)];
  if (IN_HANDLER.test(new Error().stack as string)) notices.push(MADE_IN_HANDLER);
  return notices;
}

/** A number below 1,000 was probably meant in seconds. A short window with a unit, as in `'500ms'`, is intended. */
export function shortWindow(what: string, name: string, window?: unknown): readonly Notice[] {
  if (typeof window !== 'number' || window >= SECOND_MS) return [];
  const message = `the window of ${what} "${name}" is ${window} ms: a number means milliseconds, write '${window}s' for seconds`;
  return [{ code: 'SPW_WINDOW_SHORT', message }];
}
