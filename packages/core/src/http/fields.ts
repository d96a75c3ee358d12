/**
 * Builds response headers: `RateLimit` and `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers-11),
 * `RateLimit-Limit` and similar (version 06 of the draft), `Retry-After`, legacy `X-RateLimit-*`.
 */

import type { Decision, Policy } from '../contract/decision.js';
import type { Header } from '../contract/request.js';

export function retryAfterSeconds(retryAfterMs: number): number {
  return Math.max(1, Math.ceil(retryAfterMs / 1000));
}

export function policyItem(policy: Policy): string {
  const { name, unit, limit, burst, windowMs } = policy;
  if (unit !== 'requests')
    return `${stringItem(name)};q=${integerItem(limit)};qu=${stringItem(unit)}`;
  // `q` is the burst and `w` the time in which it refills. The draft allows only whole seconds, so other windows are
  // omitted.
  const seconds = (burst * windowMs) / limit / 1000;
  const window = Number.isInteger(seconds) ? `;w=${integerItem(seconds)}` : '';
  return `${stringItem(name)};q=${integerItem(burst)}${window}`;
}

/** `prefix` is the beginning of the item, which all decisions of a policy share. */
export function limitItem(prefix: string, decision: Decision): string {
  const { allowed, cost, retryAfterMs, resetMs } = decision;
  const item = prefix + integerItem(leftAfter(decision));
  // `t` is omitted if waiting doesn't help or the time is unknown. It is unknown for a `distinct` limit that is used
  // up, because stores don't report when the oldest item expires.
  const isUsedUp = allowed && cost && !(leftAfter(decision) || retryAfterMs);
  if (isUsedUp || (retryAfterMs === Infinity && !allowed) || Number.isNaN(resetMs)) return item;
  return `${item};t=${integerItem(secondsUntilMore(decision))}`;
}

function leftAfter({ allowed, remaining }: Decision): number {
  return allowed ? remaining : 0;
}

/**
 * The seconds until the full quota is back, in three cases: something remains, no retry can ever succeed, or this
 * request never has to wait. In all other cases, the seconds until a retry can succeed.
 */
function secondsUntilMore(decision: Decision): number {
  const { allowed, cost, retryAfterMs, resetMs } = decision;
  // A request without a cost, or with a known item of a `distinct` limit, never has to wait, so its `retryAfterMs` says
  // nothing about other requests.
  const isFree = allowed && !(cost * retryAfterMs);
  const isWait = !leftAfter(decision) && retryAfterMs !== Infinity && !isFree;
  return isWait ? retryAfterSeconds(retryAfterMs) : Math.ceil(resetMs / 1000);
}

/**
 * The item of a policy in `RateLimit-Policy`. Version 06 of the draft requires a window in whole seconds. A limit of 0
 * never refills, so its own window is stated.
 */
export function policyItem06({ limit, burst, windowMs }: Policy): string {
  const ms = limit ? (burst * windowMs) / limit : windowMs;
  return `${integerItem(burst)};w=${integerItem(Math.ceil(ms / 1000))}`;
}

export function fields06(decision: Decision, policies: string): readonly Header[] {
  return [
    ['RateLimit-Policy', policies],
    ['RateLimit-Limit', quotaOf(decision)],
    ['RateLimit-Remaining', integerItem(leftAfter(decision))],
    ['RateLimit-Reset', integerItem(secondsUntilMore(decision))],
  ];
}

/** The `X-RateLimit-*` headers. The reset is in seconds since the epoch, as existing clients expect. */
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

interface FieldHolder {
  /** The value of a header; undefined, null or `''` if it is not set. */
  getHeader(name: string): unknown;
  setHeader(name: string, value: string): void;
}

/**
 * Sets headers on a response that may already have headers of other guards. Appends items to `RateLimit` and
 * `RateLimit-Policy`. Of headers that describe a single limit, keeps those with the lowest remaining quota. Runs for
 * every response, so it avoids allocations.
 *
 * @param except the name of a header to leave out
 */
export function setFields(fields: readonly Header[], response: FieldHolder, except?: string): void {
  const looser = isLooser(fields, response, 'RateLimit-Remaining');
  const looserX = isLooser(fields, response, 'X-RateLimit-Remaining');
  // An index loop without destructuring, because an iterator costs more than setting a header.
  for (let i = 0; i < fields.length; i += 1) {
    const field = fields[i] as Header;
    const name = field[0];
    const value = field[1];
    if (name === except) continue;
    if (name === 'RateLimit' || name === 'RateLimit-Policy') {
      const before = response.getHeader(name);
      response.setHeader(name, isUnset(before) ? value : `${joined(before)}, ${value}`);
    } else if (
      !(looser && name.startsWith('RateLimit-')) &&
      !(looserX && name.startsWith('X-RateLimit-'))
    ) {
      response.setHeader(name, value);
    }
  }
}

/** The headers that `setFields` would set on a response that already has `existing`. */
export function mergeHeaders(
  fields: readonly Header[],
  existing: (name: string) => unknown,
): readonly Header[] {
  const merged: Header[] = [];
  const setHeader = (name: string, value: string) => merged.push([name, value]);
  setFields(fields, { getHeader: existing, setHeader });
  return merged;
}

function isLooser(fields: readonly Header[], response: FieldHolder, remaining: string): boolean {
  for (let i = 0; i < fields.length; i += 1) {
    const field = fields[i] as Header;
    if (field[0] !== remaining) continue;
    const before = response.getHeader(field[0]);
    return !isUnset(before) && Number(before) < Number(field[1]);
  }
  return false;
}

function isUnset(value: unknown): boolean {
  return value === undefined || value === null || value === '';
}

function joined(value: unknown): string {
  return Array.isArray(value) ? value.join(', ') : String(value);
}

/** A String item (RFC 9651), quoted and escaped. The text must be printable ASCII. */
export function stringItem(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`;
}

/** The largest Integer of RFC 9651. Larger numbers are clamped to it. */
const MAX_INTEGER = 999_999_999_999_999;

function integerItem(value: number): string {
  const small = value | 0; // V8 formats small integers faster
  return small === value ? String(small) : String(Math.min(value, MAX_INTEGER));
}
