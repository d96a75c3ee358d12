/** Requests, guards that record how they ended, and stores that answer later. */

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import {
  memoryStore,
  type RequestOutcome,
  type ResponseEnd,
  rateLimit,
  type Store,
} from '@spillway/core';
import { remoteStore } from '@spillway/core/store';

export const ask = (init?: RequestInit & { path?: string }) =>
  new Request(`http://a.example${init?.path ?? '/'}`, init);

export function noting() {
  const outcomes: ResponseEnd[] = [];
  const refundIf = (_request: unknown, { durationMs: _, ...end }: RequestOutcome): boolean => {
    outcomes.push(end);
    return false;
  };
  return {
    outcomes,
    limiter: rateLimit({ name: 'a', limit: 9, window: '1h', key: 'all', refundIf }),
  };
}

/** Answers after one turn. */
export function laterStore(): Store {
  const memory = memoryStore();
  return remoteStore({ sync: false, apply: async (steps) => memory.apply(steps) });
}

/** Collects garbage again and again, until a condition is true or should be. */
export async function collectGarbage(isEnough: () => boolean): Promise<void> {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  for (let turn = 0; turn < 20 && !isEnough(); turn += 1) {
    collect();
    await new Promise(setImmediate);
  }
}

export const bare = { method: 'get', url: 'http://a.example/', headers: { get: () => null } };
