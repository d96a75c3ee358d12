/** Both majors of Koa behind a real server. */

import Koa3 from 'koa';
import Koa2 from 'koa2';
import { type Service, serveListener } from '../../../tests/http/service.js';

export { type Reply, until } from '../../../tests/http/service.js';

/** Both majors, for `describe.each`. */
export const KOA = [
  { major: 3, Koa: Koa3 },
  { major: 2, Koa: Koa2 },
] as const;

/** Starts an app on a free loopback port, until the test is over. */
export function serve(app: Koa3, host?: string): Promise<Service> {
  return serveListener(app.callback(), host);
}
