/**
 * Response fields: `RateLimit` and `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers-11), `RateLimit-Limit` and
 * its like (the draft's version 06), `Retry-After`, legacy `X-RateLimit-*`.
 */

import type { Decision, Policy } from '../contract/decision.js';
import type { Header } from '../contract/request.js';
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
  const { retryAfterMs, resetMs } = decision;
  const item = prefix + integerItem(leftAfter(decision));
  // Where waiting does not help, and where nobody knows how long.
  if (retryAfterMs === Infinity || Number.isNaN(resetMs)) return item;
  return `${item};t=${integerItem(secondsUntilMore(decision))}`;
}

function leftAfter({ allowed, remaining }: Decision): number {
  return allowed ? remaining : 0;
}

/** Exhausted: when to come again. Else, and where waiting does not help: when the quota is whole again. */
function secondsUntilMore(decision: Decision): number {
  const { retryAfterMs, resetMs } = decision;
  const isWait = leftAfter(decision) === 0 && retryAfterMs !== Infinity;
  return isWait ? retryAfterSeconds(retryAfterMs) : Math.ceil(resetMs / 1000);
}

/** The `RateLimit-Policy` item of a policy in version 06 of the draft, which must tell a window in whole seconds. */
export function policyItem06({ limit, burst, windowMs }: Policy): string {
  return `${integerItem(burst)};w=${integerItem(Math.ceil((burst * windowMs) / limit / 1000))}`;
}

/** The fields of version 06 of the draft; `policies` are the items of all limits that are told. */
export function fields06(decision: Decision, policies: string): readonly Header[] {
  return [
    ['RateLimit-Policy', policies],
    ['RateLimit-Limit', quotaOf(decision)],
    ['RateLimit-Remaining', integerItem(leftAfter(decision))],
    ['RateLimit-Reset', integerItem(secondsUntilMore(decision))],
  ];
}

/** The legacy fields of a decision. The reset is in seconds since the epoch, as the clients that read it expect. */
export function legacyFields(decision: Decision, nowMs: number): readonly Header[] {
  return [
    ['X-RateLimit-Limit', quotaOf(decision)],
    ['X-RateLimit-Remaining', String(leftAfter(decision))],
    ['X-RateLimit-Reset', String(Math.ceil((nowMs + decision.resetMs) / 1000))],
  ];
}

function quotaOf({ policy }: Decision): string {
  return String(policy?.burst ?? 0);
}

/** A response that may have fields from another guard already. */
interface FieldHolder {
  /** The value of a field; undefined, null or '' if there is none. */
  getHeader(name: string): unknown;
  setHeader(name: string, value: string): void;
}

/**
 * Sets fields on a response that other guards may have set fields on. Lists are joined to theirs. Of the fields that
 * tell of one limit alone, those of the guard with less left stay. All others replace theirs. Done for every response,
 * so it makes no list.
 *
 * @param except the name of a field that is left out
 */
export function setFields(fields: readonly Header[], response: FieldHolder, except?: string): void {
  const looser = isLooser(fields, response, 'RateLimit-Remaining');
  const looserX = isLooser(fields, response, 'X-RateLimit-Remaining');
  // By index, and no pair taken apart: to iterate costs more than to set a field.
  for (let i = 0; i < fields.length; i += 1) {
    const field = fields[i] as Header;
    const name = field[0];
    const value = field[1];
    if (name === except) continue;
    if (name === 'RateLimit' || name === 'RateLimit-Policy') {
      const before = response.getHeader(name);
      response.setHeader(name, isNone(before) ? value : `${joined(before)}, ${value}`);
    } else if (
      !(looser && name.startsWith('RateLimit-')) &&
      !(looserX && name.startsWith('X-RateLimit-'))
    ) {
      response.setHeader(name, value);
    }
  }
}

/** The fields that `setFields` would set on a response that has `existing` ones. */
export function mergeHeaders(
  fields: readonly Header[],
  existing: (name: string) => unknown,
): readonly Header[] {
  const merged: Header[] = [];
  const setHeader = (name: string, value: string) => merged.push([name, value]);
  setFields(fields, { getHeader: existing, setHeader });
  return merged;
}

/** Whether the field `remaining` among `fields` leaves more than the one that is there. */
function isLooser(fields: readonly Header[], response: FieldHolder, remaining: string): boolean {
  for (let i = 0; i < fields.length; i += 1) {
    const field = fields[i] as Header;
    if (field[0] !== remaining) continue;
    const before = response.getHeader(field[0]);
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
