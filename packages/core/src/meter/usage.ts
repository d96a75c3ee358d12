/** A usage is a number, or an object of numbers that are counted separately. */

import { isCost, isPlainObject } from '../base/checks.js';
import { mustBe } from '../base/errors.js';

export function isUsage(value: unknown): boolean {
  return isCost(value) || (isPlainObject(value) && Object.values(value).every(isCost));
}

export function checkUsage<Usage>(what: string, usage: Usage): Usage {
  if (isUsage(usage)) return usage;
  throw mustBe(what, 'an integer from 0, or an object of them', usage, 'SPW_COST_INVALID');
}

/** Adds two usages. A component that one of them lacks counts as 0. Without `other`, returns a copy. */
export function sumOf<Usage>(one: Usage, other: unknown): Usage {
  return combined(one, other, (a, b) => Math.min(a + b, Number.MAX_SAFE_INTEGER));
}

export function greaterOf<Usage>(one: Usage, other: unknown): Usage {
  return combined(one, other, Math.max);
}

export function timesOf<Usage>(usage: Usage, factor: number): Usage {
  return combined(usage, usage, (units) => Math.ceil(units * factor));
}

type Numbers = Readonly<Record<string, number>>;

function combined<Usage>(
  one: Usage,
  other: unknown,
  units: (a: number, b: number) => number,
): Usage {
  if (typeof one === 'number')
    return (other === undefined ? one : units(one, other as number)) as Usage;
  const all: Record<string, number> = { ...(one as Numbers) };
  for (const [name, own] of Object.entries((other ?? {}) as Numbers))
    all[name] = units((one as Numbers)[name] ?? 0, own);
  // Because a price may read a getter of the app's class. Set last, because the class may have no setter for a name.
  return Object.setPrototypeOf(all, Object.getPrototypeOf(one)) as Usage;
}
