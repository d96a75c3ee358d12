/** The rule of window counters, fixed, anchored and sliding, and its machine. */

import type { Machine, WindowRule } from '../../contract/rule.js';
import { measureWindow } from './measure.js';
import { receiptOfWindow } from './receipt.js';
import { windowRefusals } from './refusal.js';
import { WindowShelf } from './shelf.js';

const windowMachine: Machine = {
  same: (rule: WindowRule, other: WindowRule) =>
    rule.windowUs === other.windowUs && rule.kind === other.kind,
  capacity: ({ limit }: WindowRule) => limit,
  share: ({ limit, windowUs, kind }: WindowRule, share) =>
    makeWindowRule(limit, Math.ceil(windowUs / share), kind),
  closed: (rule: WindowRule) => ({ ...rule, limit: 0 }),
  policy: (name, { limit, windowUs }: WindowRule) => ({
    name,
    unit: 'requests',
    limit,
    windowMs: windowUs / 1000,
    burst: limit,
  }),
  declared: ({ limit, windowUs, kind }: WindowRule) => ({
    algorithm: NAMES[kind],
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

const NAMES: Readonly<Record<WindowRule['kind'], string>> = {
  fixed: 'fixed-window',
  anchored: 'fixed-window:first-request',
  sliding: 'sliding-window-counter',
};

/** Numbers as for `makeRule`. */
export function makeWindowRule(
  limit: number,
  windowUs: number,
  kind: WindowRule['kind'],
): WindowRule {
  const code = `${kind.charAt(0)}${windowUs.toString(36)}`;
  return { machine: 'window', logic: windowMachine, code, limit, windowUs, kind };
}
