/** What is true of every adapter, on both platforms. */

import {
  answers,
  departures,
  exemptions,
  lifecycle,
  meters,
  metersCut,
  requests,
  stores,
} from 'spillway-testkit/adapters';
import { describe } from 'vitest';
import { driverOf } from './driver.js';
import { PLATFORMS } from './service.js';

describe.each(PLATFORMS)('Nest on %s', (_, { adapter }) => {
  const driver = driverOf(adapter);
  answers(driver);
  exemptions(driver);
  requests(driver);
  lifecycle(driver);
  meters(driver);
  departures(driver);
  metersCut(driver);
  stores(driver);
});
