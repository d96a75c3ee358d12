/**
 * Tests for all adapters, or for all adapters of one kind. An adapter runs them with a {@link Driver}. Its own tests
 * cover only what is specific to it.
 */

export { answers, ownAnswers } from './answers.js';
export { composition, exemptions } from './composition.js';
export {
  type App,
  type Driver,
  type Fields,
  type Handler,
  HELLO,
  latch,
  type MiddlewareDriver,
  type Mounted,
  noting,
  type RefusingDriver,
  type Route,
  type Sent,
  sendOwn,
} from './driver.js';
export { closing, departures, lifecycle, responses } from './lifecycle.js';
export { meters, metersCut } from './meters.js';
export { mistakes } from './mistakes.js';
export {
  repeats,
  repeatsAfterDepartures,
  repeatsRewritten,
  repeatsUncompressed,
} from './once.js';
export {
  askAt,
  askFetch,
  type OnceAnswer,
  type OnceApp,
  type OnceVisit,
  type OnceWorld,
} from './once-world.js';
export { ownAnswersEnd } from './own-answers.js';
export { pipelining } from './pipelining.js';
export { requests } from './requests.js';
export { stores } from './stores.js';
