/** Spillway's targets. They are judged in the tables of a section, and summarized before these tables. */

import { digits } from './stats.js';
import { table } from './table.js';

let verdicts = [];

/** Formats a value with its target `[name, '<=' or '>=', bound]`. If there is no target, formats only the number. */
export function judged(value, target) {
  if (!target || !Number.isFinite(value)) return digits(value);
  const [what, comparison, bound] = target;
  const kept = comparison === '<=' ? value <= bound : value >= bound;
  const limit = `${comparison === '<=' ? '≤' : '≥'} ${bound}`;
  verdicts.push([what, limit, digits(value), kept ? 'yes' : '**no**']);
  return `**${digits(value)}** (${limit})`;
}

/** A table of all targets judged since the last call; an empty string if there were none. */
export function targets() {
  const rows = verdicts;
  verdicts = [];
  return rows.length > 0 ? table(['Held to', 'target', 'measured', 'kept'], rows) : '';
}
