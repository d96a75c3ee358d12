/** Many requests over one connection: each is answered, counted and released separately. */

import { pipelining } from 'spillway-testkit/adapters';
import { describe } from 'vitest';
import { EXPRESS } from './service.js';

describe.each(EXPRESS)('Express $major', ({ driver }) => {
  pipelining(driver);
});
