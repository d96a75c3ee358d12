/** @spillway/cli/replay: the function behind `spillway replay`, for use in programs. */

export type { Log } from './replay/bytes.js';
export type { CallerPeaks } from './replay/caller-table.js';
export type { FieldMap } from './replay/json-lines.js';
export type { LogEntry } from './replay/log-entry.js';
export type { Policy } from './replay/policy.js';
export type { OnDecision } from './replay/rehearsal.js';
export { type ReplayOptions, replay } from './replay/replay.js';
export type {
  CallerReport,
  Comparison,
  JudgedLimiter,
  LogReport,
  PolicyReport,
  Range,
  ReplayReport,
  Smallest,
  TimelineReport,
  Trial,
  UnjudgedLimiter,
} from './replay/report.js';
