/** What permits, claims and slots are, in a few lines each, for the check of linearizability. */

import type { Model } from './linearizable.js';

/** A call of a process to the store. */
export interface Asked {
  readonly op: 'take' | 'put' | 'done';
  /** The permit, or the owner of the claim. */
  readonly id: string;
}

export interface Told {
  readonly allowed: boolean;
  readonly nowUs: number;
  /** For slots, when the last one ends; otherwise 0. */
  readonly tatUs: number;
}

export const PROCESSES = 4;
export const PERMITS = 3;
export const PERIOD_US = 2_000;
export const LONGEST_US = 20_000;

/** Permits that never expire. The state: who holds one. */
export const permits: Model<string, Asked, Told> = {
  initial: '',
  step(state, { op, id }, output) {
    const held = state === '' ? [] : state.split(' ');
    const has = held.includes(id);
    const allowed = op === 'put' ? has : has || held.length < PERMITS;
    if (output && output.allowed !== allowed) return undefined;
    if (!allowed || (op === 'take' && has)) return state;
    return (op === 'put' ? held.filter((one) => one !== id) : [...held, id].sort()).join(' ');
  },
};

/** One claim, which never expires. The state: whose it is, and whether that is done. */
export const claims: Model<string, Asked, Told> = {
  initial: '',
  step(state, { op, id }, output) {
    const isFree = state === '';
    const runs = state === `runs ${id}`;
    const allowed =
      op === 'put' ? runs : isFree || runs || (op === 'done' && state === `done ${id}`);
    if (output && output.allowed !== allowed) return undefined;
    if (!allowed) return state;
    if (op === 'put') return '';
    return op === 'done' ? `done ${id}` : `runs ${id}`;
  },
};

/** It is unknown when the last slot ends, because a call never returned. */
const UNKNOWN = -1;

/** A queue of one slot after the other. The state: when the last one ends. */
export const slots: Model<number, Asked, Told> = {
  initial: 0,
  step(state, _input, output) {
    if (!output) return UNKNOWN;
    const { allowed, nowUs, tatUs } = output;
    if (state === UNKNOWN) return allowed ? tatUs : UNKNOWN;
    const fits = Math.max(state, nowUs) <= nowUs + LONGEST_US;
    if (allowed !== fits) return undefined;
    if (!allowed) return state;
    return tatUs === Math.max(state, nowUs) + PERIOD_US ? tatUs : undefined;
  },
};
