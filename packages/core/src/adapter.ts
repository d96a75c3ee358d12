/**
 * @spillway/core/adapter: for those who connect guards with a framework (admissions, address, notices) or with a system
 * of metrics (Tally, METRICS).
 */

export { mustBe } from './base/errors.js';
export type { Admission } from './contract/admission.js';
export type { Field } from './contract/field.js';
export { mergeFields } from './http/fields.js';
export { canonicalAddress, checkIpv6Prefix } from './net/address.js';
export { clientAddress, compileTrust, type Trust, type TrustProxy } from './net/trust.js';
export { tellFault } from './observe/faults.js';
export { METRICS, type Metric, STORE_CALL_DURATION } from './observe/metrics.js';
export { Notices } from './observe/notices.js';
export { type Gauges, type Sample, Tally } from './observe/tally.js';
export { admissionBefore, admissionsOf, rememberAdmission } from './passage/admissions.js';
export { type GuardHandle, showGuard } from './passage/handle.js';
export { checkStore } from './stores/check-store.js';
