/**
 * @spillway/core/adapter: building blocks for adapters to frameworks (Gate, Exchange) and exporters of metrics (Tally,
 * METRICS).
 */

export { checkOptions } from './base/check-shapes.js';
export { mustBe } from './base/errors.js';
export { isLater } from './base/host.js';
export type { NamesOf } from './base/option-names.js';
export type { Admission } from './contract/admission.js';
export type {
  BodyEnd,
  BodyLimits,
  BodyWatcher,
  Recorder,
  Recorders,
  ResponseWatcher,
  ShownResponse,
  StoredResponse,
} from './contract/recorder.js';
export type { Header as Field } from './contract/request.js';
export { sameRule } from './contract/rule.js';
export { mergeHeaders } from './http/fields.js';
export { PROBLEM_TYPE } from './http/problem.js';
export {
  type Addressing,
  type AddressOptions,
  clientAddress,
  clientOf,
  compileAddressing,
  compileTrust,
  type Trust,
  type TrustProxy,
} from './net/client.js';
export { pathOf } from './net/target.js';
export { tellAdapterFault, tellFault } from './observe/faults.js';
export { METRICS, type Metric, STORE_CALL_DURATION } from './observe/metrics.js';
export { Notices } from './observe/notices.js';
export { type Gauges, type Sample, Tally } from './observe/tally.js';
export type { Exchange, OnClosed } from './passage/gate.js';
export {
  admissionsOf,
  checkGateOptions,
  Gate,
  type GateOptions,
  type GateRequest,
  type GuardHandle,
  type OwnNames,
  type Passage,
  showGuard,
} from './passage/gate.js';
export { OwnAnswer, type RejectedResponse } from './passage/own-answer.js';
export { showBytes } from './passage/show-bytes.js';
export { checkStore } from './stores/check-store.js';
