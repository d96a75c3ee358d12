/** Faults of other libraries: the list names a test for each, and the tests that exist nowhere else are here. */

import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { type Duration, idempotency, memoryStore, type Store } from '@spillway/core';
import { fetchGuard } from '@spillway/core/fetch';
import { nodeGuard } from '@spillway/core/node';
import { remoteStore } from '@spillway/core/store';
import { ManualClock } from '@spillway/core/testing';
import { ROOT, until } from 'spillway-testkit';
import { serveListener } from 'spillway-testkit/http';
import { describe, expect, it } from 'vitest';
import { FAULTS } from './faults.js';

type Handler = (run: number) => number | Promise<number>;

/** A process that answers with the number of its run, and the status that `handle` gives. */
async function serve(store: Store, handle: Handler = () => 200, wait: Duration = 0) {
  let runs = 0;
  const guard = nodeGuard<IncomingMessage>(
    idempotency({ scope: (request) => request.header('x-account') ?? 'ada', wait }),
    { store, storeTimeout: '20ms', breaker: false, logger: false },
  );
  const { port } = await serveListener(async (req, res) => {
    if (!(await guard(req, res))) return;
    runs += 1;
    const text = `run ${runs}`;
    res.writeHead(await handle(runs)).end(text);
  });
  const post = async (key: string, path = '/charges', account = 'ada'): Promise<string> => {
    const headers = { 'Idempotency-Key': key, 'X-Account': account };
    const init = { method: 'POST', body: '{"amount":5}', headers };
    const response = await fetch(`http://127.0.0.1:${port}${path}`, init);
    const text = await response.text();
    return response.ok ? text : `${response.status}`;
  };
  return { post, runs: () => runs };
}

/** A remote store, with other values. */
function far(
  change: (right: NonNullable<Store['values']>) => Partial<NonNullable<Store['values']>>,
): Store {
  const memory = memoryStore();
  const { values } = memory;
  const right = {
    set: async (...args: Parameters<typeof values.set>) => values.set(...args),
    get: async (...args: Parameters<typeof values.get>) => values.get(...args),
  };
  return remoteStore({
    sync: false,
    apply: async (steps) => memory.apply(steps),
    values: { ...right, ...change(right) },
  });
}

function latch() {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open: () => open(), opened };
}

const listed = FAULTS.flatMap(([fault, file, test]) => (test ? [[fault, file, test]] : []));

describe('of the faults of other libraries', () => {
  it.each(listed)('%s: is a test', (_, file, test) => {
    expect(readFileSync(join(ROOT, file as string), 'utf8')).toContain(test);
  });
});

describe('a request', () => {
  it('is another request under another key, on another path, of another caller', async () => {
    const { post, runs } = await serve(memoryStore());
    await post('one');
    await post('other');
    await post('third', '/refunds');
    await post('one', '/charges', 'bob');
    expect(runs()).toBe(4);
    expect(await post('one')).toBe('run 1');
  });

  it.each(['k', '8', '-', 'a'.repeat(20)])('has a key that may be short: %s', async (key) => {
    const { post } = await serve(memoryStore());
    for (const _ of [1, 2]) expect(await post(key)).toBe('run 1');
  });
});

describe('an answer', () => {
  it('that was sent before it was stored is not there for a repeat in between, which does not run', async () => {
    const storing = latch();
    const store = far(({ set }) => ({
      set: async (...args) => {
        await storing.opened;
        return set(...args);
      },
    }));
    const { post, runs } = await serve(store);
    expect(await post('key')).toBe('run 1');
    expect(await post('key')).toBe('409');
    storing.open();
    await until(async () => (await post('key')) === 'run 1');
    expect(runs()).toBe(1);
  });

  it('that is a stream is sent piece by piece, and kept whole', async () => {
    const more = latch();
    const guard = fetchGuard<Request>(idempotency({ scope: () => 'ada' }));
    const charge = guard.wrap(async () => {
      const pieces = ['one ', 'two'];
      const stream = new ReadableStream({
        async pull(controller) {
          if (pieces.length === 1) await more.opened;
          const piece = pieces.shift();
          if (piece === undefined) controller.close();
          else controller.enqueue(new TextEncoder().encode(piece));
        },
      });
      return new Response(stream);
    });
    const post = () => {
      const init = { method: 'POST', headers: { 'Idempotency-Key': 'key' } };
      return charge(new Request('https://shop.example/charges', init));
    };
    const reader = ((await post()).body as ReadableStream<Uint8Array>).getReader();
    let first: Uint8Array | undefined;
    void reader.read().then(({ value }) => {
      first = value;
    });
    await until(() => first !== undefined);
    expect(String(Buffer.from(first as Uint8Array))).toBe('one ');
    more.open();
    while (!(await reader.read()).done);
    expect(await (await post()).text()).toBe('one two');
  });

  it.each<[string, () => Promise<undefined>]>([
    ['rejects', () => Promise.reject(new Error('down'))],
    [
      'throws',
      () => {
        throw new Error('bug');
      },
    ],
    ['says nothing', () => new Promise(() => undefined)],
  ])('of which a store %s is refused with 503, and never hangs or runs again', async (_, get) => {
    let isDown = true;
    const store = far((right) => ({ get: (...args) => (isDown ? get() : right.get(...args)) }));
    const { post, runs } = await serve(store);
    await post('key');
    await until(async () => (await post('key')) !== '409');
    expect(await post('key')).toBe('503');
    isDown = false;
    expect(await post('key')).toBe('run 1');
    expect(runs()).toBe(1);
  });
});

describe('a repeat that may wait', () => {
  it('waits for as long as it takes, and asks again and again', async () => {
    let looks = 0;
    const shared = far(() => ({}));
    const store: Store = {
      ...shared,
      apply: async (steps) => {
        looks += steps.filter(({ op }) => op === 'look').length;
        return shared.apply(steps);
      },
    };
    const answering = latch();
    const one = await serve(store, () => answering.opened.then(() => 200));
    const other = await serve(store, undefined, '30s');
    const first = one.post('key');
    await until(() => one.runs() === 1);
    const repeat = other.post('key');
    await until(() => looks === 4, 20_000);
    answering.open();
    expect([await first, await repeat, other.runs()]).toEqual(['run 1', 'run 1', 0]);
  });
});

describe('an attempt that has lost its claim', () => {
  it('frees nothing that another one has', async () => {
    const clock = new ManualClock();
    const store = memoryStore({ clock });
    const [slow, quick] = [latch(), latch()];
    const one = await serve(store, () => slow.opened.then(() => 503));
    const other = await serve(store, () => quick.opened.then(() => 200));
    const late = one.post('key');
    await until(() => one.runs() === 1);
    clock.advance('31s');
    const next = other.post('key');
    await until(() => other.runs() === 1);
    slow.open();
    expect(await late).toBe('503');
    expect(await one.post('key')).toBe('409');
    quick.open();
    expect(await next).toBe('run 1');
    expect(await one.post('key')).toBe('run 1');
    expect([one.runs(), other.runs()]).toEqual([1, 1]);
  });
});
