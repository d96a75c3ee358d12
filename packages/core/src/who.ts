/** @spillway/core/who: finds the callers that are rejected most, in one process or in the merged reports of several. */

export type { CallerCount, CallerList } from './observe/callers/caller-list.js';
export type { CallerTops } from './observe/callers/caller-windows.js';
export {
  type LimiterReport,
  mergeReports,
  type OutcomeCounts,
  type ReportSink,
} from './observe/callers/report.js';
export { CallerSeal } from './observe/callers/sealed-caller.js';
export {
  type CallerSummary,
  type TopCallers,
  type TopCallersOptions,
  topCallers,
} from './observe/callers/top-callers.js';
