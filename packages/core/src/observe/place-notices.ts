/** Logs what may be a mistake in the process in which limiters are made, as a variable of its environment shows. */

import { environment, oneOfMany } from '../base/host.js';
import type { Mode } from '../contract/mode.js';
import type { Notices } from './notices.js';

/** To be called for limits that were given no store. */
export function tellOfMissingStore(notices: Notices): void {
  const place = notices.hears('SPW_STORE_MISSING') ? oneOfMany() : undefined;
  if (place === undefined) return;
  notices.tell(
    'SPW_STORE_MISSING',
    () =>
      `limits are counted in this process alone, which is ${place}: set store, as in redisStore(client)`,
  );
}

/** @param guardMode of the guard, or what stands for it */
export function tellOfShadow(
  notices: Notices,
  guardMode: unknown,
  limiters: readonly { readonly name: string; readonly mode: unknown }[],
): void {
  const shadow: Mode = 'shadow';
  const code = 'SPW_SHADOW_IN_PRODUCTION';
  const idle = limiters.filter(({ mode }) => mode === shadow || guardMode === shadow);
  if (idle.length === 0 || environment('NODE_ENV') !== 'production' || !notices.hears(code)) return;
  // Frameworks make a guard for each route, with limiters that other routes have too.
  const first = idle.filter(({ name }) => notices.count(code, name) === 1);
  if (first.length === 0) return;
  const names = first.map(({ name }) => `"${name}"`).join(', ');
  notices.tell(
    code,
    () => `${names} in shadow mode, though NODE_ENV is production: nothing is rejected`,
    names,
  );
}
