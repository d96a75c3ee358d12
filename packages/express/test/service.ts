/** Both majors of Express behind a real server. */

import type { Express } from 'express';
import express5 from 'express';
import express4 from 'express4';
import { type Service, serveListener } from '../../../tests/http/service.js';

export { type Reply, until } from '../../../tests/http/service.js';

/** Both majors, for `describe.each`. */
export const EXPRESS = [
  { major: 5, express: express5 },
  { major: 4, express: express4 },
] as const;

/** Starts an app on a free loopback port, until the test is over. */
export function serve(app: Express, host?: string): Promise<Service> {
  return serveListener(app, host);
}
