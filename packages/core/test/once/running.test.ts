/** Requests whose key belongs to a running request. */

import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { concurrencyLimit, memoryStore } from '@spillway/core';
import { until } from 'spillway-testkit';
import { describe, expect, it } from 'vitest';
import { account, bodyOf, failingStore, type Handler, opsOf, poster, serve } from './set-up.js';

/** A handler that responds when the test says so. */
function held() {
  const waiting: ((status: number) => void)[] = [];
  const handler: Handler = async (req: IncomingMessage, res: ServerResponse, run: number) => {
    await bodyOf(req);
    res.statusCode = await new Promise<number>((resolve) => waiting.push(resolve));
    res.end(`run ${run}`);
  };
  const answer = async (status = 200): Promise<void> => {
    await until(() => waiting.length > 0);
    waiting.shift()?.(status);
  };
  return { handler, answer, waiting };
}

describe('a request whose key is running', () => {
  it('is refused at once, and answered when the first is done', async () => {
    const { handler, answer, waiting } = held();
    const { post, runs, events } = await serve(handler);
    const first = post('key-1');
    await until(() => waiting.length === 1);
    const meanwhile = await post('key-1');
    expect([meanwhile.status, meanwhile.headers.get('retry-after')]).toEqual([409, '1']);
    expect(JSON.parse(meanwhile.text)).toMatchObject({ status: 409, title: 'Request in progress' });
    expect(events.at(-1)).toMatchObject({ outcome: 'denied', reason: 'running' });
    await answer();
    expect((await first).text).toBe('run 1');
    expect(await post('key-1')).toMatchObject({ text: 'run 1', isRepeat: true });
    expect(runs()).toBe(1);
  });

  it('is refused before its body has come', async () => {
    const { handler, answer, waiting } = held();
    const { post, port } = await serve(handler);
    const first = post('key-1');
    await until(() => waiting.length === 1);
    const headers = { 'Idempotency-Key': 'key-1', 'Content-Length': '1000' };
    const half = httpRequest({ port, method: 'POST', path: '/charges', headers, agent: false });
    half.on('error', () => undefined);
    half.write('half');
    const [response] = (await once(half, 'response')) as [IncomingMessage];
    expect(response.statusCode).toBe(409);
    half.destroy();
    await answer();
    await first;
  });

  it('runs once of a hundred that come together', async () => {
    const { handler, answer, waiting } = held();
    const { post, runs } = await serve(handler);
    let refused = 0;
    const all = Array.from({ length: 100 }, async () => {
      const { status } = await post('key-1');
      if (status === 409) refused += 1;
      return status;
    });
    await until(() => refused === 99 && waiting.length === 1, 20_000);
    await answer();
    expect((await Promise.all(all)).filter((status) => status === 200)).toHaveLength(1);
    expect(runs()).toBe(1);
  });
});

describe('a request that waits for the one that is running', () => {
  const options = { wait: '5s' } as const;

  it('gets its answer', async () => {
    const { handler, answer, waiting } = held();
    const { post, runs, events } = await serve(handler, { options });
    const first = post('key-1');
    await until(() => waiting.length === 1);
    const second = post('key-1');
    await until(async () => waiting.length === 1);
    await answer();
    expect(await first).toMatchObject({ text: 'run 1', isRepeat: false });
    expect(await second).toMatchObject({ text: 'run 1', isRepeat: true });
    expect(runs()).toBe(1);
    expect(events.map(({ outcome }) => outcome).sort()).toEqual(['allowed', 'replayed']);
  });

  it('gets it from another process too', async () => {
    const { handler, answer, waiting } = held();
    const { store } = failingStore(memoryStore());
    const one = await serve(handler, { options, store });
    const other = await serve(handler, { options, store });
    const first = one.post('key-1');
    await until(() => waiting.length === 1);
    const second = other.post('key-1');
    await answer();
    await first;
    expect(await second).toMatchObject({ text: 'run 1', isRepeat: true });
    expect(other.runs()).toBe(0);
  });

  it('runs itself if that answer is not kept', async () => {
    const { handler, answer, waiting } = held();
    const { post, runs } = await serve(handler, { options });
    const first = post('key-1');
    await until(() => waiting.length === 1);
    const second = post('key-1');
    await answer(503);
    expect((await first).status).toBe(503);
    await answer(200);
    expect(await second).toMatchObject({ status: 200, text: 'run 2', isRepeat: false });
    expect(runs()).toBe(2);
  });

  it('is refused when the wait is over', async () => {
    const { handler, answer, waiting } = held();
    const { post } = await serve(handler, { options: { wait: '20ms' } });
    const first = post('key-1');
    await until(() => waiting.length === 1);
    expect((await post('key-1')).status).toBe(409);
    await answer();
    await first;
  });

  it('is refused for another body once the first is done', async () => {
    const { handler, answer, waiting } = held();
    const { post } = await serve(handler, { options });
    const first = post('key-1');
    await until(() => waiting.length === 1);
    const second = post('key-1', { body: 'other' });
    await answer();
    await first;
    expect((await second).status).toBe(422);
  });
});

describe('the calls of a store far away', () => {
  it('are one to admit with all limits, and one after the answer was written', async () => {
    const remote = failingStore(memoryStore());
    const permits = concurrencyLimit<IncomingMessage>({ name: 'many', limit: 9, key: account });
    const { post, guard } = await serve(undefined, { store: remote.store, others: [permits] });
    await post('key-1');
    await until(() => remote.calls.length === 2);
    expect(opsOf(remote.calls)).toEqual(['take,take', 'done,put']);
    expect(remote.values).toEqual(['set true']);
    await post('key-1');
    expect(opsOf(remote.calls)).toEqual(['take,take', 'done,put', 'take,take']);
    expect(remote.values).toEqual(['set true', 'get']);
    expect(guard.inProgress).toBe(0);
  });

  it('do not make permits wait for an answer that cannot be written', async () => {
    const memory = memoryStore();
    const remote = failingStore(memory);
    let write = (): void => undefined;
    const values = {
      ...remote.store.values,
      set: () =>
        new Promise<void>((resolve) => {
          write = resolve;
        }),
    };
    const store = { ...remote.store, values } as typeof remote.store;
    const permits = concurrencyLimit<IncomingMessage>({ name: 'many', limit: 9, key: account });
    const { post } = await serve(undefined, {
      store,
      others: [permits],
      guard: { storeTimeout: '20ms' },
    });
    await post('key-1');
    await until(() => remote.calls.length === 2);
    expect(opsOf(remote.calls)).toEqual(['take,take', 'put']);
    write();
    await until(() => remote.calls.length === 3);
    expect(opsOf(remote.calls)[2]).toBe('done');
  });

  it('fail closed, and say so', async () => {
    const remote = failingStore(memoryStore());
    const { post, runs, faults } = await serve(undefined, {
      store: remote.store,
      guard: { logger: false, breaker: false },
    });
    await post('key-1');
    await until(() => remote.calls.length === 2);
    remote.setDown(true);
    expect((await post('key-1')).status).toBe(503);
    expect((await post('key-2')).status).toBe(503);
    expect((await post(undefined)).status).toBe(201);
    expect(runs()).toBe(2);
    expect(faults.map(({ source }) => source)).toContain('store');
    remote.setDown(false);
    expect((await post('key-1')).isRepeat).toBe(true);
  });

  it('may be done without, where the app says so', async () => {
    const remote = failingStore(memoryStore());
    remote.setDown(true);
    const { post, runs } = await serve(undefined, {
      store: remote.store,
      options: { onStoreError: 'allow' },
      guard: { logger: false, breaker: false },
    });
    expect((await post('key-1')).status).toBe(201);
    expect(runs()).toBe(1);
  });
});

it('two guards may share a store, and a caller is met in both', async () => {
  const store = memoryStore();
  const one = await serve(undefined, { store });
  const other = await serve(undefined, { store });
  await one.post('key-1');
  expect((await poster(other.port)('key-1')).isRepeat).toBe(true);
});
