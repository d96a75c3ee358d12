/** A Worker that compares its calendars with `Temporal`, in every sixteenth time zone. */

import { differencesFromTemporal, everyZone, NAMES } from '../conformance/calendar-vectors.ts';

export default {
  fetch() {
    const zones = everyZone(16);
    const differences = NAMES.flatMap((name) => differencesFromTemporal(name, zones));
    return Response.json({ zones: zones.length, differences });
  },
};
