/** How claims end in failures: crashes, lost calls, lost leases, clients and handlers that never end. */

import { concurrencyLimit, type Fault, idempotency } from '@spillway/core';
import { Gate } from '@spillway/core/adapter';
import { remoteStore, systemClock } from '@spillway/core/store';
import { fakeTime, request } from 'spillway-testkit';
import { describe, expect, it, vi } from 'vitest';
import { Call, OnceStore, setUp } from './gate-set-up.js';

const LEASE_MS = 30_000;

describe('the claim of a request', () => {
  fakeTime();

  it('is renewed as long as its handler runs', async () => {
    const { send, store } = setUp();
    const first = await send();
    for (let i = 0; i < 8; i += 1) {
      await vi.advanceTimersByTimeAsync(LEASE_MS);
      expect((await send()).refusal?.status).toBe(409);
    }
    expect(store.count('record')).toBeGreaterThan(16);
    first.end('done');
    await first.close();
    expect((await send()).text).toBe('done');
  });

  it('is free after one lease where its process died', async () => {
    const { store, send } = setUp();
    await send();
    // The first process sends nothing any more.
    const dead = store.apply.bind(store);
    store.apply = () => Promise.reject(new Error('dead'));
    await vi.advanceTimersByTimeAsync(LEASE_MS + 1);
    store.apply = dead;
    const other = setUp({}, store);
    expect((await other.send()).passage).toBe('pass');
  });

  it('that another has now is lost: its handler is told, and its answer overwrites nothing', async () => {
    const { store, send } = setUp();
    const slow = await send();
    expect(slow.claim?.signal.aborted).toBe(false);
    store.fails = (op) => op === 'record';
    await vi.advanceTimersByTimeAsync(LEASE_MS + 1);
    store.fails = () => false;
    const other = setUp({}, store);
    const quick = await other.send();
    expect(quick.passage).toBe('pass');
    expect(quick.claim?.token).not.toBe(slow.claim?.token);
    quick.end('quick');
    await quick.close();
    await vi.advanceTimersByTimeAsync(LEASE_MS / 2);
    expect(slow.claim?.signal.aborted).toBe(true);
    slow.end('slow');
    await slow.close();
    expect((await send()).text).toBe('quick');
  });

  it.each([
    ['fails', () => Promise.reject(new Error('down'))],
    ['hangs', () => new Promise<never>(() => undefined)],
  ])('that another may have is lost before its lease ends, if the store %s', async (_, down) => {
    const { store, send } = setUp();
    const slow = await send();
    const { apply } = store;
    store.apply = down;
    await vi.advanceTimersByTimeAsync(0.9 * LEASE_MS);
    expect(slow.claim?.signal.aborted).toBe(false);
    await vi.advanceTimersByTimeAsync(0.1 * LEASE_MS - 1);
    expect(slow.claim?.signal.aborted).toBe(true);
    store.apply = apply;
    await vi.advanceTimersByTimeAsync(LEASE_MS / 2);
    slow.end('slow'); // nobody took it over, so it is kept
    await slow.close();
    expect((await send()).text).toBe('slow');
  });

  it('is lost a lease after the store was asked for it, however late the store answered', async () => {
    const { store, send } = setUp({}, undefined, { storeTimeout: '5s' });
    const { apply } = store;
    store.apply = async (steps) => {
      await new Promise((resolve) => setTimeout(resolve, 4_000));
      return apply.call(store, steps);
    };
    const sent = send();
    await vi.advanceTimersByTimeAsync(4_000);
    const slow = await sent;
    store.apply = () => Promise.reject(new Error('down'));
    await vi.advanceTimersByTimeAsync(0.8 * LEASE_MS);
    expect(slow.claim?.signal.aborted).toBe(false);
    await vi.advanceTimersByTimeAsync(0.2 * LEASE_MS - 4_001);
    expect(slow.claim?.signal.aborted).toBe(true);
  });

  it('is lost before its lease ends if the store comes back only to hang', async () => {
    const { store, send } = setUp();
    const slow = await send();
    const { apply } = store;
    store.apply = () => Promise.reject(new Error('down'));
    await vi.advanceTimersByTimeAsync(0.8 * LEASE_MS);
    let hangs = 0;
    store.apply = (steps) => {
      if (!steps.some(({ op }) => op === 'record')) return apply.call(store, steps);
      hangs += 1;
      return new Promise<never>(() => undefined);
    };
    await vi.advanceTimersByTimeAsync(0.1 * LEASE_MS);
    expect(hangs).toBe(1);
    await vi.advanceTimersByTimeAsync(0.1 * LEASE_MS - 1);
    expect(slow.claim?.signal.aborted).toBe(true);
  });

  it('is lost first thing after its process was stalled for a lease', async () => {
    let stalledUs = 0;
    const clock = { nowUs: () => systemClock.nowUs() + stalledUs };
    const { send } = setUp({}, undefined, { clock });
    const slow = await send();
    await vi.advanceTimersByTimeAsync(LEASE_MS / 6);
    expect(slow.claim?.signal.aborted).toBe(false);
    stalledUs = LEASE_MS * 1_000;
    await vi.advanceTimersByTimeAsync(LEASE_MS / 100);
    expect(slow.claim?.signal.aborted).toBe(true);
  });

  it.each([true, false])(
    'whose renewal was sent before a stall is lost unless its reply has come: %s',
    async (hasCome) => {
      let stalledUs = 0;
      const clock = { nowUs: () => systemClock.nowUs() + stalledUs };
      const { store, send } = setUp({}, undefined, { clock });
      const slow = await send();
      const { apply } = store;
      let reply: (() => void) | undefined;
      store.apply = async (steps) => {
        if (steps.some(({ op }) => op === 'record')) {
          await new Promise<void>((resolve) => {
            reply ??= resolve;
          });
        }
        return apply.call(store, steps);
      };
      await vi.advanceTimersByTimeAsync(LEASE_MS / 6); // the first renewal comes after a twelfth
      stalledUs = 0.86 * LEASE_MS * 1_000;
      void send('key-2'); // sends what is overdue, before the reply is read
      expect(slow.claim?.signal.aborted).toBe(false);
      if (hasCome) reply?.();
      await vi.advanceTimersByTimeAsync(1);
      expect(slow.claim?.signal.aborted).toBe(!hasCome);
    },
  );

  it('is not lost if one renewal in a lease reaches the store', async () => {
    const { store, send } = setUp();
    const slow = await send();
    for (let i = 0; i < 20; i += 1) {
      store.fails = (op) => op === 'record' && i % 5 !== 0;
      await vi.advanceTimersByTimeAsync(LEASE_MS / 6);
    }
    expect(slow.claim?.signal.aborted).toBe(false);
  });

  it('that another has, and that nobody could tell, overwrites nothing either', async () => {
    const { store, send } = setUp();
    const slow = await send();
    store.fails = (op) => op === 'record';
    await vi.advanceTimersByTimeAsync(LEASE_MS + 1);
    const quick = await setUp({}, store).send();
    slow.end('slow');
    await slow.close();
    expect((await send()).text).toBe('409');
    quick.end('quick');
    await quick.close();
    expect((await send()).text).toBe('quick');
  });

  it('is marked as done again, if that did not reach the store', async () => {
    const { store, send } = setUp({}, undefined, { breaker: false });
    const first = await send();
    store.fails = (op) => op === 'done';
    first.end('done');
    await first.close();
    expect((await send()).text).toBe('409');
    store.fails = () => false;
    await vi.advanceTimersByTimeAsync(LEASE_MS / 2);
    expect((await send()).text).toBe('done');
    expect(store.count('done')).toBe(2);
  });

  it('is marked as done soon, if that did not reach the store, however long its lease is', async () => {
    const { store, send } = setUp({ lease: '1h' });
    const first = await send();
    store.fails = (op) => op === 'done';
    first.end('done');
    await first.close();
    store.fails = () => false;
    expect((await send()).text).toBe('409');
    await vi.advanceTimersByTimeAsync(5_001);
    expect((await send()).text).toBe('done');
  });

  it('is marked as done once though the reply was lost', async () => {
    const { store, send } = setUp({}, undefined, { breaker: false });
    const first = await send();
    store.losesReply = (op) => op === 'done';
    first.end('done');
    await first.close();
    store.losesReply = () => false;
    expect((await send()).text).toBe('done');
    await vi.advanceTimersByTimeAsync(LEASE_MS);
    expect((await send()).text).toBe('done');
  });

  it('is marked as done after an outage that was longer than its lease', async () => {
    const { store, send } = setUp({}, undefined, { breaker: false });
    const first = await send();
    store.fails = () => true;
    first.end('done');
    await first.close();
    await vi.advanceTimersByTimeAsync(3 * LEASE_MS);
    store.fails = () => false;
    await vi.advanceTimersByTimeAsync(LEASE_MS);
    expect((await send()).text).toBe('done');
  });

  it('ends though its answer takes longer to write than callbacks may take', async () => {
    const { store, send } = setUp({}, undefined, { callbackTimeout: '50ms' });
    const { set } = store.values;
    store.values.set = ((...args: Parameters<typeof set>) =>
      new Promise<void>((resolve) => {
        setTimeout(() => resolve(set.apply(store.memory.values, args)), 200);
      })) as unknown as typeof set;
    const first = await send();
    first.end('done');
    void first.close();
    await vi.advanceTimersByTimeAsync(201);
    expect((await send()).text).toBe('done');
  });

  it('is given back if the reply to its question was lost', async () => {
    const { store, send } = setUp({}, undefined, { breaker: false });
    store.losesReply = (op) => op === 'take';
    expect((await send()).text).toBe('503');
    store.losesReply = () => false;
    await vi.advanceTimersByTimeAsync(1);
    expect((await send()).passage).toBe('pass');
  });

  it('is recorded where it was let run without the store', async () => {
    const { store, send } = setUp({ onStoreError: 'allow' }, undefined, { breaker: false });
    store.fails = () => true;
    const first = await send();
    expect(first.passage).toBe('pass');
    store.fails = () => false;
    first.end('done');
    await first.close();
    expect((await send()).text).toBe('done');
  });

  it('is left to its lease when the process closes while the handler runs', async () => {
    const { gate, store, send } = setUp();
    await send();
    await gate.close();
    expect(store.count('put')).toBe(0);
    expect((await setUp({}, store).send()).refusal?.status).toBe(409);
  });

  it('ends if the client was gone before the handler could run', async () => {
    const { store, gate, send } = setUp();
    const call = new Call();
    call.hasLeft = true;
    const headers = { 'idempotency-key': 'key-1' };
    expect(await gate.enter(request({ method: 'POST', headers }), call, call)).toBe('gone');
    await vi.advanceTimersByTimeAsync(1);
    expect(store.count('put')).toBe(1);
    expect((await send()).passage).toBe('pass');
  });

  it('is not counted as a permit', async () => {
    const { gate, send } = setUp();
    await send();
    expect(gate.inProgress).toBe(0);
  });
});

describe('a client that leaves first', () => {
  fakeTime();

  it('gives permits back at once, and the claim when the handler has answered', async () => {
    const { store } = setUp();
    const { idempotency } = await import('@spillway/core');
    const limiters = [
      idempotency({ scope: () => 'ada' }),
      concurrencyLimit({ name: 'many', limit: 1, key: 'all' }),
    ];
    const gate = new Gate(limiters, { store, logger: false });
    const call = new Call();
    const headers = { 'idempotency-key': 'key-1' };
    await gate.enter(request({ method: 'POST', headers }), call, call);
    await call.close(true);
    expect(gate.inProgress).toBe(0);
    expect(store.count('done')).toBe(0);
    await vi.advanceTimersByTimeAsync(2 * LEASE_MS); // still renewed
    const repeat = new Call();
    await gate.enter(request({ method: 'POST', headers }), repeat, repeat);
    expect(repeat.refusal?.status).toBe(409);
    call.end('late');
    await vi.advanceTimersByTimeAsync(1);
    const after = new Call();
    await gate.enter(request({ method: 'POST', headers }), after, after);
    expect(after.text).toBe('late');
  });

  it('leaves the claim for ten leases at most, if its handler never answers', async () => {
    const { send } = setUp();
    const first = await send();
    await first.close(true);
    await vi.advanceTimersByTimeAsync(9.5 * LEASE_MS);
    expect((await send()).text).toBe('409');
    await vi.advanceTimersByTimeAsync(2 * LEASE_MS);
    expect(first.claim?.signal.aborted).toBe(true);
    expect((await send()).passage).toBe('pass');
  });

  it('finds a request done whose answer had begun and never ended', async () => {
    const { send } = setUp({ maxRun: '60s' });
    const first = await send();
    first.begin(201);
    await first.close(true);
    await vi.advanceTimersByTimeAsync(61_000);
    const again = await send();
    expect(again.refusal?.binding?.reason).toBe('not-kept');
  });

  it('is answered by a handler that answers after that, if nobody else has run', async () => {
    const { send } = setUp({ maxRun: '30s' });
    const first = await send();
    await vi.advanceTimersByTimeAsync(2.5 * LEASE_MS);
    first.end('very late');
    await vi.advanceTimersByTimeAsync(1);
    expect((await send()).text).toBe('very late');
  });
});

describe('an answer that nobody saw', () => {
  it('is done, and not kept', async () => {
    const { send } = setUp();
    const first = await send();
    await first.close();
    expect((await send()).refusal?.binding).toMatchObject({ reason: 'not-kept' });
  });
});

describe('the claim of a limiter of your own around idempotency()', () => {
  fakeTime();

  it.each<[string, () => Promise<never>]>([
    ['never answers', () => new Promise(() => undefined)],
    ['answers junk', async () => 'junk' as never],
  ])('is left to its lease where its finish %s', async (_, after) => {
    const inner = idempotency({ scope: () => 'ada' });
    const limiter = {
      ...inner,
      step: inner.step.bind(inner),
      decide: inner.decide.bind(inner),
      finish: async (...args: Parameters<NonNullable<typeof inner.finish>>) => {
        await inner.finish?.(...args);
        return after();
      },
    };
    const faults: Fault[] = [];
    const onFault = (fault: Fault) => void faults.push(fault);
    const gate = new Gate(limiter, { store: remoteStore(new OnceStore()), logger: false, onFault });
    const headers = { 'idempotency-key': 'key-1' };
    const enter = (call: Call) => gate.enter(request({ method: 'POST', headers }), call, call);
    const call = new Call();
    await enter(call);
    call.end('done');
    void call.close(); // waits as long
    await vi.advanceTimersByTimeAsync(10_001);
    expect(faults).toMatchObject([{ limiter: 'once', source: 'finish' }]);
    await vi.advanceTimersByTimeAsync(1.1 * LEASE_MS);
    expect(await enter(new Call())).toBe('pass');
  });
});
