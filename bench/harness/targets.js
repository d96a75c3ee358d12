/** What Spillway is held to: judged in the tables, and summed up before them. */

import { digits } from './stats.js';
import { table } from './table.js';

const verdicts = [];

/** `what`, then the bound: `[name, '<=' or '>=', number]`. Without a target, just the number. */
export function judged(value, target) {
  if (!target || !Number.isFinite(value)) return digits(value);
  const [what, comparison, bound] = target;
  const kept = comparison === '<=' ? value <= bound : value >= bound;
  const limit = `${comparison === '<=' ? '≤' : '≥'} ${bound}`;
  verdicts.push([what, limit, digits(value), kept ? 'yes' : '**no**']);
  return `**${digits(value)}** (${limit})`;
}

/** Every target that was judged so far. */
export function summary() {
  return table(['Held to', 'target', 'measured', 'kept'], verdicts);
}
