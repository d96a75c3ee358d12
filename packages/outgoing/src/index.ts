/** @spillway/outgoing: outgoing calls at a pace that all processes share. */

export type { CallPace, PacedFetch } from './fetch/call.js';
export { hostAndCredential } from './fetch/credential-key.js';
export { pacedFetch } from './fetch/paced-fetch.js';
export type { PacedFetchOptions } from './fetch/paced-fetch-options.js';
export type { PauseEvent } from './fetch/pauses.js';
export type {
  Drained,
  Reservation,
  RunningJob,
  ScheduleOptions,
  Shaper,
  ShaperCost,
  ShaperStats,
  Unreserved,
} from './shaper/contract.js';
export { createShaper } from './shaper/shaper.js';
export type {
  ConcurrencyOptions,
  OnePaceOptions,
  PaceNumbers,
  QueueOptions,
  SeveralPacesOptions,
  ShaperOptions,
  ShaperPlan,
  ShaperSettings,
} from './shaper/shaper-options.js';
