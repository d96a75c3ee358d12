/** @spillway/outgoing: outgoing calls at a pace that all processes share. */

export { pacedFetch } from './fetch/paced-fetch.js';
export type { PacedFetchOptions } from './fetch/paced-fetch-options.js';
export type { PauseEvent } from './fetch/pauses.js';
export type { Reservation, ScheduleOptions, Shaper, Unreserved } from './shaper/contract.js';
export { createShaper } from './shaper/shaper.js';
export type { ShaperOptions, ShaperSettings } from './shaper/shaper-options.js';
