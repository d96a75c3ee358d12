/** What Spillway is held to: judged in the tables of a section, and summed up before them. */

import { digits } from './stats.js';
import { table } from './table.js';

let verdicts = [];

/** `what`, then the bound: `[name, '<=' or '>=', number]`. Without a target, just the number. */
export function judged(value, target) {
  if (!target || !Number.isFinite(value)) return digits(value);
  const [what, comparison, bound] = target;
  const kept = comparison === '<=' ? value <= bound : value >= bound;
  const limit = `${comparison === '<=' ? '≤' : '≥'} ${bound}`;
  verdicts.push([what, limit, digits(value), kept ? 'yes' : '**no**']);
  return `**${digits(value)}** (${limit})`;
}

/** Every target that was judged since the last call, as a table; an empty text if none was. */
export function targets() {
  const rows = verdicts;
  verdicts = [];
  return rows.length > 0 ? table(['Held to', 'target', 'measured', 'kept'], rows) : '';
}
