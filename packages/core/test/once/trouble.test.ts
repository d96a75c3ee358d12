/** Claims when something besides the handler fails: the recorder, callbacks, the client, the store. */

import { type Fault, idempotency } from '@spillway/core';
import { Gate } from '@spillway/core/adapter';
import { readIdempotencyKey, remoteStore } from '@spillway/core/store';
import { fakeTime, request } from 'spillway-testkit';
import { describe, expect, it, vi } from 'vitest';
import { Call, OnceStore, setUp } from './gate-set-up.js';

const LEASE_MS = 30_000;
const headers = { 'idempotency-key': 'key-1' };
const enter = (gate: Gate<unknown>, call = new Call(), holder: object = call) =>
  gate.enter(request({ method: 'POST', headers }), call, holder);

describe('a request whose handler cannot be watched', () => {
  fakeTime();

  it.each(['watchBody', 'watchResponse'] as const)('runs once: %s failed', async (method) => {
    const { gate, send, faults } = setUp();
    const call = new Call();
    call[method] = () => {
      throw new Error('this request cannot be changed');
    };
    expect(await enter(gate, call)).toBe('pass');
    expect(faults).toMatchObject([{ limiter: 'once', source: 'adapter' }]);
    await call.close();
    expect((await send()).refusal?.binding).toMatchObject({ reason: 'not-kept' });
  });

  it('runs once: the object that stands for it cannot be marked', async () => {
    const { gate, send } = setUp();
    const call = new Call();
    expect(await enter(gate, call, Object.freeze({}))).toBe('pass');
    call.end('done');
    await call.close();
    expect((await send()).text).toBe('done');
  });

  it('is not run again because its answer cannot be read, whatever the app allows', async () => {
    const store = remoteStore(new OnceStore());
    const { values } = store.memory;
    const get = () => Promise.reject(new Error('down'));
    Object.assign(store, { values: { get, set: values.set.bind(values) } });
    const { send } = setUp({ onStoreError: 'allow' }, store);
    const first = await send();
    first.end('done');
    await first.close();
    expect((await send()).refusal?.status).toBe(503);
  });

  it('is not run again because its repeat cannot be watched, whatever the app allows', async () => {
    const { gate, send } = setUp({ onStoreError: 'allow' });
    const first = await send();
    first.end('done');
    await first.close();
    const repeat = new Call();
    repeat.readBody = () => Promise.reject(new Error('bug of an adapter'));
    expect(await enter(gate, repeat)).toBe('rejected');
    expect(repeat.refusal?.status).toBe(503);
  });
});

describe('the end of a claim', () => {
  fakeTime();

  it('waits for its answer to be written, however little time callbacks have', async () => {
    const store = remoteStore(new OnceStore());
    const { values } = store.memory;
    const slow = async (...args: Parameters<typeof values.set>) => {
      await new Promise((resolve) => setTimeout(resolve, 60));
      values.set(...args);
    };
    Object.assign(store, { values: { get: values.get.bind(values), set: slow } });
    const { send, faults } = setUp({}, store, { callbackTimeout: '20ms' });
    const first = await send();
    first.end('done');
    void first.close();
    await vi.advanceTimersByTimeAsync(61);
    expect(faults).toEqual([]);
    expect((await send()).text).toBe('done');
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('bug');
      },
    ],
    ['rejects', () => Promise.reject(new Error('bug'))],
  ])('is left to its lease where a limiter of your own around it %s', async (_, finish) => {
    const store = remoteStore(new OnceStore());
    const inner = idempotency({ scope: () => 'ada' });
    const faults: Fault[] = [];
    const limiter = {
      ...inner,
      step: inner.step.bind(inner),
      decide: inner.decide.bind(inner),
      finish,
    };
    const gate = new Gate(limiter, {
      store,
      logger: false,
      onFault: (fault) => faults.push(fault),
    });
    const call = new Call();
    await enter(gate, call);
    call.end('done');
    await call.close();
    expect(faults).toMatchObject([{ limiter: 'once', source: 'finish' }]);
    await vi.advanceTimersByTimeAsync(1.1 * LEASE_MS);
    expect(store.count('record')).toBe(0);
  });

  it('does not wait for a client that never reads the answer', async () => {
    const { send } = setUp();
    const first = await send();
    first.end('long');
    await vi.advanceTimersByTimeAsync(1_001);
    expect((await send()).text).toBe('long');
    await first.close();
    expect((await send()).text).toBe('long');
  });

  it('says so where its answer could not be written', async () => {
    const store = remoteStore(new OnceStore());
    const set = () => Promise.reject(new Error('full'));
    Object.assign(store, { values: { get: () => undefined, set } });
    const { send } = setUp({}, store);
    const first = await send();
    first.end('done');
    await first.close();
    const { note } = await readIdempotencyKey(store, {
      limiter: 'once',
      scope: 'ada',
      key: 'key-1',
    });
    expect(note).toMatchObject({ isStored: false });
  });

  it('leaves an answer behind that was written too late to tell', async () => {
    const store = remoteStore(new OnceStore());
    const { values } = store.memory;
    const slow = async (...args: Parameters<typeof values.set>) => {
      await new Promise((resolve) => setTimeout(resolve, 1_500));
      values.set(...args);
    };
    Object.assign(store, { values: { get: values.get.bind(values), set: slow } });
    const { send } = setUp({}, store);
    const first = await send();
    first.end('done');
    void first.close();
    await vi.advanceTimersByTimeAsync(1_001);
    expect((await send()).refusal?.binding).toMatchObject({ reason: 'not-kept' });
    await vi.advanceTimersByTimeAsync(500);
    expect((await send()).text).toBe('done');
  });

  it('is told once, whenever the client has read the answer', async () => {
    const { send, store } = setUp();
    const first = await send();
    first.end('done');
    await first.close();
    await vi.advanceTimersByTimeAsync(10 * LEASE_MS);
    expect(store.count('done')).toBe(1);
  });
});

describe('a client that leaves once all of its body has come', () => {
  fakeTime();

  it('leaves the answer behind, also one that refuses', async () => {
    const { gate, send } = setUp();
    const call = new Call();
    call.watchBody = (watcher) => {
      watcher.end();
      watcher.cut();
    };
    await enter(gate, call);
    call.end('declined', 402);
    await call.close(true);
    expect((await send()).text).toBe('declined');
  });
});

describe('a repeat that waits', () => {
  fakeTime();

  it('asks no more once its client has left', async () => {
    const { gate, send, store } = setUp({ wait: '60s' });
    await send();
    const repeat = new Call();
    const waiting = enter(gate, repeat);
    await vi.advanceTimersByTimeAsync(1_000);
    repeat.hasLeft = true;
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await waiting).toBe('gone');
    const asked = store.count('look');
    await vi.advanceTimersByTimeAsync(10_000);
    expect(store.count('look')).toBe(asked);
  });

  it('is told at once of a handler that is given up, of which nothing is remembered', async () => {
    const { gate, send, store } = setUp({ wait: '60s', maxRun: '30s' });
    await send();
    await vi.advanceTimersByTimeAsync(29_000);
    const waiting = enter(gate);
    await vi.advanceTimersByTimeAsync(999);
    const asked = store.count('look');
    await vi.advanceTimersByTimeAsync(20);
    expect(store.count('look')).toBeGreaterThan(asked);
    await vi.advanceTimersByTimeAsync(LEASE_MS);
    expect(await waiting).toBe('pass');
  });
});

describe('the repeat of a request whose body nobody has read', () => {
  fakeTime();

  it('is answered before its own has come', async () => {
    const { gate } = setUp();
    const first = new Call();
    first.watchBody = () => undefined;
    await enter(gate, first);
    first.end('done');
    await first.close();
    const repeat = new Call();
    repeat.readBody = () => new Promise(() => undefined);
    expect(await enter(gate, repeat)).toBe('answered');
  });
});

describe('a repeat in shadow', () => {
  fakeTime();

  it('runs without a claim: the one that has it is not told of another', async () => {
    const { send, store } = setUp({ mode: 'shadow' });
    const first = await send();
    const other = await send();
    expect(other.passage).toBe('pass');
    expect(first.claim?.key).toBe('key-1');
    expect(other.claim).toBeUndefined();
    other.end('other');
    await other.close();
    expect(store.count('done')).toBe(0);
  });
});

describe('fingerprint that gives nothing to compare', () => {
  it.each([new Blob(['one']), Symbol('one')])(
    'is a fault, and the body counts: %o',
    async (own) => {
      const { send, faults } = setUp({ fingerprint: () => own });
      const first = await send();
      first.end('done');
      await first.close();
      expect(faults).toMatchObject([{ limiter: 'once', source: 'fingerprint' }]);
      expect((await send()).text).toBe('done');
    },
  );
});

describe('keepIf that answers later', () => {
  it.each([
    ['rejects', () => Promise.reject(new Error('bug'))],
    ['says no', async () => false],
  ])('is a fault, and the answer is kept: it %s', async (_, own) => {
    const { send, faults } = setUp({ keepIf: own as never });
    const first = await send();
    first.end('done');
    await first.close();
    expect((await send()).text).toBe('done');
    expect(faults).toMatchObject([{ limiter: 'once', source: 'keepIf' }]);
    expect(String(faults[0]?.error)).toMatch(/a promise: it must return the value itself/);
  });
});
