/** @spillway/core/fetch: limits for handlers of `Request`, calls that go out, and what adapters over fetch share. */

export type {
  Reservation,
  ScheduleOptions,
  Shaper,
  Unreserved,
} from './contract/shaper.js';
export { AddressedRequest, AddressFinder, type PeerOptions } from './fetch/address.js';
export { FetchExchange } from './fetch/exchange.js';
export {
  type FetchCheck,
  type FetchGuard,
  type FetchGuardOptions,
  fetchGuard,
} from './fetch/guard.js';
export { ResponsePermits, type WaitUntil } from './fetch/permit.js';
export { FetchRecorder } from './fetch/recorder.js';
export { goneResponse, keptResponse, refusalFields, withFields } from './fetch/response.js';
export type { HostResponse, WebHeaders, WebRequest, WebResponse, WebSignal } from './fetch/web.js';
export type { PacedFetchOptions } from './outgoing/options.js';
export { pacedFetch } from './outgoing/paced-fetch.js';
export type { PauseEvent } from './outgoing/pauses.js';
