/**
 * Response fields: `RateLimit` and `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers-11), `Retry-After`, legacy
 * `X-RateLimit-*`.
 */

import type { Decision, Policy } from '../contract/decision.js';
import type { Field } from '../contract/field.js';
import { integerItem, stringItem } from './structured.js';

/** Seconds until the same cost passes, rounded up, at least 1: what `Retry-After` says. */
export function retryAfterSeconds(retryAfterMs: number): number {
  return Math.max(1, Math.ceil(retryAfterMs / 1000));
}

/** The `RateLimit-Policy` item of a policy. */
export function policyItem(policy: Policy): string {
  const { name, unit, limit, burst, windowMs } = policy;
  if (unit !== 'requests')
    return `${stringItem(name)};q=${integerItem(limit)};qu=${stringItem(unit)}`;
  // The quota is what may come at once; its window is the time in which that much refills. Only whole seconds can be
  // told.
  const seconds = (burst * windowMs) / limit / 1000;
  const window = Number.isInteger(seconds) && seconds >= 1 ? `;w=${integerItem(seconds)}` : '';
  return `${stringItem(name)};q=${integerItem(burst)}${window}`;
}

/** The `RateLimit` item of a decision; `prefix` is what comes before the number of what is left. */
export function limitItem(prefix: string, decision: Decision): string {
  const { allowed, remaining, retryAfterMs, resetMs } = decision;
  const left = allowed ? remaining : 0;
  const item = prefix + integerItem(left);
  // Where waiting does not help, and where nobody knows how long.
  if (retryAfterMs === Infinity || Number.isNaN(resetMs)) return item;
  // Exhausted: when to come again. Else: when the quota is whole again.
  const seconds = left === 0 ? retryAfterSeconds(retryAfterMs) : Math.ceil(resetMs / 1000);
  return `${item};t=${integerItem(seconds)}`;
}

/** The legacy fields of a decision. The reset is in seconds since the epoch, as the clients that read it expect. */
export function legacyFields(decision: Decision, nowMs: number): readonly Field[] {
  const left = decision.allowed ? decision.remaining : 0;
  return [
    ['X-RateLimit-Limit', String(decision.policy?.burst ?? 0)],
    ['X-RateLimit-Remaining', String(left)],
    ['X-RateLimit-Reset', String(Math.ceil((nowMs + decision.resetMs) / 1000))],
  ];
}

/** A response that may have fields from another guard already. */
interface FieldHolder {
  /** The value of a field; undefined, null or '' if there is none. */
  getField(name: string): unknown;
  setField(name: string, value: string): void;
}

/**
 * Sets fields on a response: lists are joined to those that are there, the rest is replaced, save that of the legacy
 * fields those of whichever guard has less left stay. Done for every response, so it makes no list.
 *
 * @param except the name of a field that is left out
 */
export function setFields(fields: readonly Field[], response: FieldHolder, except?: string): void {
  const looser = isLooser(fields, response);
  // By index, and no pair taken apart: to iterate costs more than to set a field.
  for (let i = 0; i < fields.length; i += 1) {
    const field = fields[i] as Field;
    const name = field[0];
    const value = field[1];
    if (name === except) continue;
    if (name === 'RateLimit' || name === 'RateLimit-Policy') {
      const before = response.getField(name);
      response.setField(name, isNone(before) ? value : `${joined(before)}, ${value}`);
    } else if (!looser || !name.startsWith('X-RateLimit-')) response.setField(name, value);
  }
}

/** The fields that {@link setFields} would set on a response that has `existing` ones. */
export function mergeFields(
  fields: readonly Field[],
  existing: (name: string) => unknown,
): readonly Field[] {
  const merged: Field[] = [];
  const setField = (name: string, value: string) => merged.push([name, value]);
  setFields(fields, { getField: existing, setField });
  return merged;
}

/** Whether the legacy fields among `fields` leave more than those that are there. */
function isLooser(fields: readonly Field[], response: FieldHolder): boolean {
  for (let i = 0; i < fields.length; i += 1) {
    const field = fields[i] as Field;
    if (field[0] !== 'X-RateLimit-Remaining') continue;
    const before = response.getField(field[0]);
    return !isNone(before) && Number(before) < Number(field[1]);
  }
  return false;
}

function isNone(value: unknown): boolean {
  return value === undefined || value === null || value === '';
}

function joined(value: unknown): string {
  return Array.isArray(value) ? value.join(', ') : String(value);
}
