/** The rule of a sliding window log, and its machine. */

import type { LogRule, Machine } from '../../contract/rule.js';
import { measureLog } from './measure.js';
import { receiptOfLog } from './receipt.js';
import { logRefusals } from './refusal.js';
import { LogShelf } from './shelf.js';

const logMachine: Machine = {
  same: (rule: LogRule, other: LogRule) => rule.windowUs === other.windowUs,
  capacity: ({ limit }: LogRule) => limit,
  share: ({ limit, windowUs }: LogRule, share) => makeLogRule(limit, Math.ceil(windowUs / share)),
  closed: (rule: LogRule) => ({ ...rule, limit: 0 }),
  policy: (name, { limit, windowUs }: LogRule) => ({
    name,
    unit: 'requests',
    limit,
    windowMs: windowUs / 1000,
    burst: limit,
  }),
  declared: ({ limit, windowUs }: LogRule) => ({
    algorithm: 'sliding-window-log',
    limit,
    windowMs: windowUs / 1000,
  }),
  restUs: ({ windowUs }: LogRule) => windowUs,
  measure: measureLog,
  receipt: receiptOfLog,
  merges: true,
  shelf: () => new LogShelf(),
  refusals: logRefusals,
};

/** Numbers as for `makeRule`. */
export function makeLogRule(limit: number, windowUs: number): LogRule {
  const code = `l${windowUs.toString(36)}`;
  return { machine: 'log', logic: logMachine, code, limit, windowUs };
}
