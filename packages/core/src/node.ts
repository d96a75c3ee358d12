/** @spillway/core/node: the load signals that need Node. */

export { type EventLoopSignal, eventLoopSignal } from './node/utilization.js';
export {
  type EventLoopWaitOptions,
  eventLoopWaitSignal,
  type TimedSignal,
} from './node/wait.js';
