/** What operators see and delete of idempotency keys. */

import { type Answer, memoryStore } from '@spillway/core';
import { dropIdempotencyKey, readIdempotencyKey, remoteStore } from '@spillway/core/store';
import { until } from 'spillway-testkit';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { type Handler, serve } from './set-up.js';

const name = (key: string, scope = 'ada') => ({ limiter: 'once', scope, key });

describe('an idempotency key', () => {
  it('is free before its first request', async () => {
    const { memory } = await serve();
    expect(await readIdempotencyKey(memory, name('k'))).toEqual({
      state: 'free',
      owner: '',
      endsMs: 0,
      leftMs: 0,
      note: undefined,
      answer: undefined,
      size: 0,
    });
  });

  it('is seen with its answer, in the way that its client writes it', async () => {
    const { memory, post } = await serve();
    await post('"k"');
    for (const key of ['k', '"k"']) {
      const { state, leftMs, note, answer, size } = await readIdempotencyKey(memory, name(key));
      expect({ state, leftMs }).toEqual({ state: 'done', leftMs: 86_400_000 });
      expect(note).toMatchObject({ isStored: true, length: '12', body: { kind: 'r' } });
      expect(answer).toMatchObject({ status: 201 });
      expect(answer?.fields).toContainEqual(['Location', '/charges/1']);
      expect(new TextDecoder().decode(answer?.body)).toBe('{"run":1,"body":"{\\"amount\\":5}"}');
      expect(size).toBeGreaterThan(answer?.body?.length ?? Infinity);
    }
  });

  it('is of one caller, also of one whose name begins like an address', async () => {
    const { memory, post } = await serve();
    await post('k', { headers: { 'x-account': '@eve' } });
    expect((await readIdempotencyKey(memory, name('k'))).state).toBe('free');
    expect((await readIdempotencyKey(memory, name('k', '@eve'))).state).toBe('done');
  });

  it('runs while its handler does, and looking does not free it or take it', async () => {
    let seen: unknown;
    const service = await serve((async (_req, res) => {
      seen = await readIdempotencyKey(service.memory, name('k'));
      res.end();
    }) satisfies Handler);
    await readIdempotencyKey(service.memory, name('k'));
    await service.post('k');
    expect(seen).toMatchObject({ state: 'running', leftMs: 30_000, size: 0 });
    expect(service.runs()).toBe(1);
  });

  it('is free once dropped, and its answer is overwritten; others stay', async () => {
    const { memory, post, runs } = await serve();
    await post('k');
    await post('other');
    const { owner } = await dropIdempotencyKey(memory, name('k'));
    const value = memory.values?.get({ limiter: 'once', key: 'ada', id: owner });
    expect((value as Uint8Array | undefined)?.length ?? 0).toBe(0);
    expect((await readIdempotencyKey(memory, name('k'))).state).toBe('free');
    expect((await post('other')).isRepeat).toBe(true);
    expect(await post('k')).toMatchObject({ isRepeat: false, status: 201 });
    expect(runs()).toBe(3);
  });

  it.each([
    ['another run has begun', 'running', 'running'],
    ['its run has ended', 'running', 'done'],
    ['another run was done', 'done', 'done'],
  ] as const)('stays if it is not what was seen: %s', async (_, before, after) => {
    const hold: (() => void)[] = [];
    const { memory, post } = await serve(async (_req, res) => {
      await new Promise<void>((resolve) => hold.push(resolve));
      res.end('ok');
    });
    const isIn = (state: string) =>
      until(async () => (await readIdempotencyKey(memory, name('k'))).state === state);
    const answers = [post('k')];
    await isIn('running');
    if (before === 'done') {
      hold[0]?.();
      await isIn('done');
    }
    const seen = await readIdempotencyKey(memory, name('k'));
    if (before === after) {
      await dropIdempotencyKey(memory, name('k'));
      answers.push(post('k'));
      await isIn('running');
    }
    if (after === 'done') {
      hold.at(-1)?.();
      await isIn('done');
    }
    const there = await readIdempotencyKey(memory, name('k'));
    expect(await dropIdempotencyKey(memory, name('k'), seen)).toBeUndefined();
    expect(await readIdempotencyKey(memory, name('k'))).toEqual(there);
    expect(await dropIdempotencyKey(memory, name('k'), there)).toMatchObject({ state: after });
    expect((await readIdempotencyKey(memory, name('k'))).state).toBe('free');
    for (const end of hold) end();
    await Promise.all(answers);
  });

  it.each(['', 'é', 'a'.repeat(256), 'a\nb'])(
    'is none that no request can have: %j',
    async (key) => {
      const { memory } = await serve();
      const expected = { code: 'SPW_KEY_INVALID' };
      await expect(readIdempotencyKey(memory, name(key))).rejects.toMatchObject(expected);
      await expect(dropIdempotencyKey(memory, name(key))).rejects.toMatchObject(expected);
    },
  );

  it.each([0, 1])('is not awaited forever, if a store leaves call %i open', async (silent) => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const memory = memoryStore();
    let calls = 0;
    const store = remoteStore({
      sync: false,
      apply: (steps) => {
        calls += 1;
        return calls > silent ? new Promise(() => undefined) : Promise.resolve(memory.apply(steps));
      },
    });
    const outcome = dropIdempotencyKey(store, name('k')).catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(5_010);
    expect(await outcome).toMatchObject({ code: 'SPW_STORE_TIMEOUT' });
  });

  it.each(['get', 'set'] as const)(
    'is not awaited forever, if %s of the values never answers',
    async (method) => {
      vi.useFakeTimers();
      onTestFinished(() => void vi.useRealTimers());
      const state = { allowed: false, nowUs: 1, state: 'done', owner: 'x', endsUs: 2e15, note: '' };
      const values = {
        get: () => Promise.resolve(new Uint8Array(1)),
        set: () => Promise.resolve(),
        [method]: () => new Promise<never>(() => undefined),
      };
      const apply = () => Promise.resolve([state as Answer]);
      const store = remoteStore({ sync: false, apply, values });
      const outcome = dropIdempotencyKey(store, name('k')).catch((error: unknown) => error);
      await vi.advanceTimersByTimeAsync(5_010);
      expect(await outcome).toMatchObject({ message: 'no answer within 5000 ms' });
    },
  );

  it('needs a caller', async () => {
    const { memory } = await serve();
    await expect(readIdempotencyKey(memory, name('k', ''))).rejects.toMatchObject({
      code: 'SPW_SCOPE_INVALID',
    });
  });
});
