/** What the server sends: fields, statuses and bodies, byte for byte. */

import { answers, ownAnswers, ownAnswersEnd } from 'spillway-testkit/adapters';
import { describe } from 'vitest';
import { EXPRESS } from './service.js';

describe.each(EXPRESS)('Express $major', ({ driver }) => {
  answers(driver);
  ownAnswers(driver);
  ownAnswersEnd(driver, { handsNext: true });
});
