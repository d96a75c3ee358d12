/**
 * @spillway/core/node: load signals that need Node, the adapter for node:http, and what other adapters over it share.
 */

export { type NodeGuard, type NodeGuardOptions, nodeGuard } from './node/http.js';
export { type AddressOptions, type NodeIncoming, NodeLimitRequest } from './node/request.js';
export {
  answerOwn,
  endRefused,
  isGone,
  type NodeRequest,
  type NodeResponse,
  releaseOnClose,
  writeHead,
} from './node/response.js';
export { type EventLoopSignal, eventLoopSignal } from './node/utilization.js';
export {
  type EventLoopWaitOptions,
  eventLoopWaitSignal,
  type TimedSignal,
} from './node/wait.js';
export { Gate, type GateOptions, type Passage } from './passage/gate.js';
