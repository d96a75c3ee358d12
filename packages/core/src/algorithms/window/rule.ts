/** The rule of window counters, fixed and sliding, and its machine. */

import type { Machine, WindowRule } from '../../contract/rule.js';
import { measureWindow } from './measure.js';
import { receiptOfWindow } from './receipt.js';
import { windowRefusals } from './refusal.js';
import { WindowShelf } from './shelf.js';

const windowMachine: Machine = {
  same: (rule: WindowRule, other: WindowRule) =>
    rule.windowUs === other.windowUs && rule.sliding === other.sliding,
  capacity: ({ limit }: WindowRule) => limit,
  share: ({ limit, windowUs, sliding }: WindowRule, share) =>
    makeWindowRule(limit, Math.ceil(windowUs / share), sliding),
  closed: (rule: WindowRule) => ({ ...rule, limit: 0 }),
  policy: (name, { limit, windowUs }: WindowRule) => ({
    name,
    unit: 'requests',
    limit,
    windowMs: windowUs / 1000,
    burst: limit,
  }),
  declared: ({ limit, windowUs, sliding }: WindowRule) => ({
    algorithm: sliding ? 'sliding-window-counter' : 'fixed-window',
    limit,
    windowMs: windowUs / 1000,
  }),
  restUs: ({ windowUs }: WindowRule) => 2 * windowUs,
  measure: measureWindow,
  receipt: receiptOfWindow,
  merges: true,
  shelf: () => new WindowShelf(),
  refusals: windowRefusals,
};

/** Numbers as for `makeRule`. */
export function makeWindowRule(limit: number, windowUs: number, sliding: boolean): WindowRule {
  const code = `${sliding ? 's' : 'f'}${windowUs.toString(36)}`;
  return { machine: 'window', logic: windowMachine, code, limit, windowUs, sliding };
}
