/** @spillway/core/node: load signals for Node, the adapter for node:http, and building blocks for adapters on it. */

export { type NodeGuard, type NodeGuardOptions, nodeGuard } from './node/http.js';
export { type MachineSignal, type MachineSignalOptions, machineSignal } from './node/machine.js';
export type { NodeRequest, NodeResponse } from './node/node-exchange.js';
export {
  NodeExchange,
  type NodeHead,
  type NodeIncoming,
  NodeLimitRequest,
} from './node/node-exchange.js';
export { NodeRecorder } from './node/node-recorder.js';
export { type EventLoopSignal, eventLoopSignal } from './node/utilization.js';
export {
  type EventLoopWaitOptions,
  eventLoopWaitSignal,
  type TimedSignal,
} from './node/wait.js';
