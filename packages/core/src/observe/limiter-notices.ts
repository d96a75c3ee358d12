import { environment, oneOfMany } from '../base/host.js';
import type { Mode } from '../contract/decision.js';
import type { Notice } from '../contract/observer.js';
import { MADE_IN_HANDLER } from '../limits/limiter-notices.js';
import type { Notices } from './notices.js';

/** No app declares this many limiters without a store, so requests must be creating them. */
const MANY = 1_000;

interface Made {
  readonly name: string;
  readonly notices?: readonly Notice[] | undefined;
}

/** @param withoutStore the number of limiters in this process that have no store; 0 if those in `limiters` have one */
export function tellOfLimiters(
  notices: Notices,
  limiters: readonly Made[],
  withoutStore: number,
): void {
  let isOfHandler = withoutStore >= MANY;
  for (const { name, notices: own = [] } of limiters) {
    for (const { code, message } of own) {
      if (code !== MADE_IN_HANDLER.code) notices.tell(code, message, name);
      // A single limiter that is created in a handler may be correct, because the handler may keep it. With a store,
      // creating limiters in handlers is harmless, because the counts are in the store.
      else if (withoutStore > 0 && notices.count(code, name) > 1) isOfHandler = true;
    }
  }
  if (isOfHandler) notices.tell(MADE_IN_HANDLER.code, MADE_IN_HANDLER.message);
}

export function tellOfMissingStore(notices: Notices): void {
  const place = notices.reports('SPW_STORE_MISSING') ? oneOfMany() : undefined;
  if (place === undefined) return;
  notices.tell(
    'SPW_STORE_MISSING',
    `limits are counted in this process alone, which is ${place}: set store, as in redisStore(client)`,
  );
}

export function tellOfShadow(
  notices: Notices,
  guardMode: unknown,
  limiters: readonly { readonly name: string; readonly mode: unknown }[],
): void {
  const shadow: Mode = 'shadow';
  const code = 'SPW_SHADOW_IN_PRODUCTION';
  const idle = limiters.filter(({ mode }) => mode === shadow || guardMode === shadow);
  if (environment('NODE_ENV') !== 'production' || !notices.reports(code)) return;
  // Frameworks create a guard per route, and routes share limiters, so each limiter is named once.
  const first = idle.filter(({ name }) => notices.count(code, name) === 1);
  if (first.length === 0) return;
  const names = first.map(({ name }) => `"${name}"`).join(', ');
  notices.tell(
    code,
    `${names} in shadow mode, though NODE_ENV is production: nothing is rejected`,
    names,
  );
}
