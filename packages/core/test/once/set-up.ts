/** A service of node:http behind a guard with idempotency keys, and a client that retries. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  type DecisionEvent,
  type Fault,
  type IdempotencyOptions,
  idempotency,
  type Limiter,
  type MemoryStore,
  memoryStore,
  type Step,
  type Store,
} from '@spillway/core';
import { type NodeGuardOptions, nodeGuard } from '@spillway/core/node';
import { remoteStore } from '@spillway/core/store';
import { ManualClock } from '@spillway/core/testing';
import { serveListener } from 'spillway-testkit/http';

export type Handler = (req: IncomingMessage, res: ServerResponse, run: number) => unknown;
type Options = Partial<IdempotencyOptions<IncomingMessage>>;

interface SetUp {
  readonly options?: Options;
  readonly others?: readonly Limiter<IncomingMessage>[];
  readonly guard?: NodeGuardOptions<IncomingMessage>;
  readonly store?: Store;
  /** Runs before the guard, such as a parser. */
  readonly before?: (req: IncomingMessage, res: ServerResponse) => unknown;
}

/** The caller, taken from a header: a test's authentication. */
export const account = (request: { header(name: string): string | undefined }) =>
  request.header('x-account') ?? 'ada';

/** Reads a body to its end. */
export async function bodyOf(req: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of req) text += String(chunk);
  return text;
}

/** Reads the body, then responds with the number of its runs. */
export const charge: Handler = async (req, res, run) => {
  const body = await bodyOf(req);
  res.setHeader('Content-Type', 'application/json');
  res.setHeader('Location', `/charges/${run}`);
  res.setHeader('ETag', `"${run}"`);
  res.statusCode = 201;
  res.end(JSON.stringify({ run, body }));
};

export async function serve(handler: Handler = charge, setUp: SetUp = {}) {
  const clock = new ManualClock();
  const memory = memoryStore({ clock });
  const events: DecisionEvent[] = [];
  const faults: Fault[] = [];
  let runs = 0;
  const guard = nodeGuard<IncomingMessage>(
    [idempotency({ scope: account, random: () => 0, ...setUp.options }), ...(setUp.others ?? [])],
    {
      store: setUp.store ?? memory,
      onDecision: (event) => events.push(event),
      onFault: (fault) => faults.push(fault),
      ...setUp.guard,
    },
  );
  const { port } = await serveListener(async (req, res) => {
    await setUp.before?.(req, res);
    if (!(await guard(req, res))) return;
    runs += 1;
    try {
      await handler(req, res, runs);
    } catch {
      res.statusCode = 500;
      res.end('failed');
    }
  });
  return { clock, memory, events, faults, guard, port, runs: () => runs, post: poster(port) };
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly isRepeat: boolean;
}

/** Sends `POST /charges` with a key. */
export function poster(port: number) {
  return async (
    key: string | undefined,
    init: {
      body?: string;
      path?: string;
      method?: string;
      headers?: Record<string, string>;
      signal?: AbortSignal;
    } = {},
  ): Promise<Answer> => {
    const { body = '{"amount":5}', path = '/charges', method = 'POST', headers, signal } = init;
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      ...(method === 'GET' ? {} : { body }),
      headers: {
        'Content-Type': 'application/json',
        ...(key === undefined ? {} : { 'Idempotency-Key': key }),
        ...headers,
      },
      ...(signal ? { signal } : {}),
    });
    const text = await response.text();
    const isRepeat = response.headers.get('idempotency-replayed') === 'true';
    return { status: response.status, headers: response.headers, text, isRepeat };
  };
}

/** A store that answers later, and records its calls and values. */
export function failingStore(memory: MemoryStore) {
  const calls: (readonly Step[])[] = [];
  const values: string[] = [];
  let isDown = false;
  const check = (): void => {
    if (isDown) throw new Error('down');
  };
  const store: Store = remoteStore({
    sync: false,
    apply: async (steps) => {
      calls.push(steps);
      await undefined;
      check();
      return memory.apply(steps);
    },
    values: {
      set: async (name, bytes, ttlUs) => {
        values.push(`set ${bytes.length > 0}`);
        check();
        memory.values.set(name, bytes, ttlUs);
      },
      get: async (name) => {
        values.push('get');
        check();
        return memory.values.get(name);
      },
    },
  });
  return {
    store,
    calls,
    values,
    setDown: (down: boolean) => {
      isDown = down;
    },
  };
}

/** The operations in each call of a store, as in `['take,take', 'done,put']`. */
export function opsOf(calls: readonly (readonly Step[])[]): string[] {
  return calls.map((steps) => steps.map(({ op }) => op).join());
}
