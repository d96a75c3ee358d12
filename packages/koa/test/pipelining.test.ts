/** Many requests over one connection: each is answered, counted and released separately. */

import { pipelining } from 'spillway-testkit/adapters';
import { describe } from 'vitest';
import { KOA } from './service.js';

describe.each(KOA)('Koa $major', ({ driver }) => {
  pipelining(driver);
});
