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

/**
 * Whether a copy of the usage has a component of it. An instance of a class may have none, because a copy has only
 * public fields, and the components of `whole` that the class computes.
 */
export function isIn<Usage>(usage: Usage, whole: Usage): boolean {
  if (typeof usage === 'number') return true;
  const proto = Object.getPrototypeOf(usage);
  const isPlain = proto === null || proto === Object.prototype;
  return isPlain || Object.keys(whole as Numbers).some((name) => name in (usage as object));
}

type Numbers = Readonly<Record<string, number>>;

function combined<Usage>(
  one: Usage,
  other: unknown,
  units: (a: number, b: number) => number,
): Usage {
  if (typeof one === 'number')
    return (other === undefined ? one : units(one, other as number)) as Usage;
  const [a, b] = [one as Numbers, (other ?? {}) as Numbers];
  const all: Record<string, number> = {};
  for (const name of Object.keys({ ...a, ...b })) all[name] = units(a[name] ?? 0, b[name] ?? 0);
  // A price may read a getter of the app's class. It is set last, so that no setter of the class runs.
  return Object.setPrototypeOf(all, Object.getPrototypeOf(one));
}
