/**
 * Leases as stored text: the format mark `1`, then a JSON list. Each lease has its id, its end (microseconds since the
 * epoch), and 1 if critical, otherwise 0. Example: `1[["a1b2",1767225660000000,0]]`.
 */

import type { Ask, LeasesAnswer } from '../../contract/ask.js';
import type { LeasesRule } from '../../contract/rule.js';
import type { Step } from '../../contract/store.js';
import { isWritten, type StoredCount, unknownFormat, wholeNumber } from '../stored-count.js';
import { type LeasesState, MAX_LEASE_US, noLeases, stepLeases } from './lease-step.js';

const NOBODY = { used: 0, critical: 0 };

export function readLeases(text: string | undefined): StoredCount {
  return new StoredLeases(text === undefined ? noLeases() : leasesOf(text));
}

function leasesOf(text: string): LeasesState {
  const state = noLeases();
  for (const [id, end, mark] of listOf(text)) {
    const expiresUs = wholeNumber(end);
    if (typeof id !== 'string' || (mark !== 0 && mark !== 1)) throw unknownFormat();
    if (state.held.has(id)) throw unknownFormat();
    state.held.set(id, { expiresUs, critical: mark === 1 });
    state.critical += mark;
    state.minEndUs = Math.min(state.minEndUs, expiresUs);
    state.maxEndUs = Math.max(state.maxEndUs, expiresUs);
  }
  return state;
}

function listOf(text: string): readonly (readonly unknown[])[] {
  if (!text.startsWith('1')) throw unknownFormat();
  let list: unknown;
  try {
    list = JSON.parse(text.slice(1));
  } catch {
    throw unknownFormat();
  }
  if (!Array.isArray(list) || !list.every(Array.isArray)) throw unknownFormat();
  return list;
}

class StoredLeases implements StoredCount {
  changed = false;
  private readonly state: LeasesState;

  constructor(state: LeasesState) {
    this.state = state;
  }

  get expiresUs(): number {
    let lastUs = 0;
    for (const { expiresUs } of this.state.held.values()) lastUs = Math.max(lastUs, expiresUs);
    return lastUs;
  }

  step(step: Step, nowUs: number, charge: boolean): LeasesAnswer {
    const { state } = this;
    const ahead = state.maxEndUs > nowUs + MAX_LEASE_US;
    const allowed = stepLeases(step as Ask<LeasesRule>, state, nowUs, charge, NOBODY);
    const acts = step.op === 'reset' || step.lease !== undefined;
    if (acts && isWritten(step, allowed, charge, ahead)) this.changed = true;
    return { allowed, nowUs, used: state.held.size, critical: state.critical };
  }

  text(): string {
    const { held } = this.state;
    const list = [...held].map(([id, { expiresUs, critical }]) => [
      id,
      expiresUs,
      critical ? 1 : 0,
    ]);
    return `1${JSON.stringify(list)}`;
  }
}
