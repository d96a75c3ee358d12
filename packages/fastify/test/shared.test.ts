/** What is true of every adapter, at either hook of the plugin. */

import {
  answers,
  departures,
  exemptions,
  lifecycle,
  meters,
  metersCut,
  ownAnswersEnd,
  requests,
  stores,
} from 'spillway-testkit/adapters';
import { describe } from 'vitest';
import { driverOf } from './service.js';

describe.each(['onRequest', 'preHandler'] as const)('Fastify, by %s,', (hook) => {
  const driver = driverOf(hook);
  answers(driver);
  exemptions(driver);
  requests(driver);
  lifecycle(driver);
  meters(driver);
  departures(driver);
  metersCut(driver);
  ownAnswersEnd(driver, { handsNext: false });
  stores(driver);
});
