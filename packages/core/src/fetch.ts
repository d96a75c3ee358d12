/** @spillway/core/fetch: limits for handlers of `Request`, and building blocks for adapters on the Fetch API. */

export { AddressedRequest, AddressFinder, type PeerOptions } from './fetch/address.js';
export { FetchExchange } from './fetch/fetch-exchange.js';
export { FetchRecorder } from './fetch/fetch-recorder.js';
export {
  type FetchCheck,
  type FetchGuard,
  type FetchGuardOptions,
  fetchGuard,
} from './fetch/guard.js';
export { ResponsePermits, type WaitUntil } from './fetch/permit.js';
export {
  goneResponse,
  rejectionHeaders,
  replayedResponse,
  withHeaders,
} from './fetch/response.js';
export type { HostResponse, WebHeaders, WebRequest, WebResponse, WebSignal } from './fetch/web.js';
