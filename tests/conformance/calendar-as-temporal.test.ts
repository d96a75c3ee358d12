/** Days, weeks and months begin and end when `Temporal` says so, in every time zone, to the microsecond. */

import { expect, it } from 'vitest';
import { differencesFromTemporal, everyZone, NAMES } from './calendar-vectors.js';

const ZONES = everyZone();

it('some hundred changes of clocks are tried', () => {
  expect(ZONES.flatMap(({ changes }) => changes).length).toBeGreaterThan(400);
});

it.each(NAMES)(
  '%s begins and ends as in Temporal around each change of clocks and leap day',
  (name) => {
    expect(differencesFromTemporal(name, ZONES)).toEqual([]);
  },
  60_000,
);
