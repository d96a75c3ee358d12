/** @spillway/core/node: load signals that need Node, and what adapters do to a response of node:http. */

export {
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
