/** @spillway/core/direct: building blocks of keyed limiters, for packages such as @spillway/outgoing. */

export { checkFlag, checkHas } from './base/check-shapes.js';
export {
  checkBurst,
  checkCallback,
  checkClock,
  checkKey,
  checkLimit,
  checkName,
  integerBetween,
  oneOf,
  shareFromZero,
} from './base/checks.js';
export { WallTime } from './base/clock.js';
export { windowToMicroseconds } from './base/duration.js';
export { getOrMake } from './base/get-or-make.js';
export { randomOf } from './base/hint.js';
export { disregard, type Eventually, isThenable, outside, Turns } from './base/host.js';
export { warn } from './base/log.js';
export { hexOf, hmacWith, sha256 } from './base/sha256.js';
export { utf8Bytes } from './base/utf8.js';
export type { Numbers as LiveNumbers } from './contract/control-link.js';
export { DirectClient, type Limit } from './direct/direct-client.js';
export type { CostOptions } from './direct/limiter-options.js';
export { newLeaseId } from './limits/lease-limiter.js';
export { shortWindow } from './limits/limiter-notices.js';
export { nameOf } from './limits/rule-options.js';
export { tellOfLimiters } from './observe/limiter-notices.js';
export { checkClientOptions } from './stores/check-store.js';
export { domainOf } from './stores/circuit-breaker.js';
