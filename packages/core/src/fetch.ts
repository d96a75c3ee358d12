/** @spillway/core/fetch: limits for handlers of `Request`, and what adapters over fetch have in common. */

export { AddressedRequest, AddressFinder, type AddressOptions } from './fetch/address.js';
export {
  type FetchCheck,
  type FetchGuard,
  type FetchGuardOptions,
  fetchGuard,
} from './fetch/guard.js';
export { type Permit, ResponsePermits, type WaitUntil } from './fetch/permit.js';
export { goneResponse, refusalFields, withFields } from './fetch/response.js';
export type { HostResponse, WebHeaders, WebRequest, WebResponse, WebSignal } from './fetch/web.js';
// Frameworks over fetch run on node:http too; this needs nothing of Node's.
export {
  isGone,
  type NodeRequest,
  type NodeResponse,
  releaseOnClose,
  writeHead,
} from './node/response.js';
