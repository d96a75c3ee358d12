import { concurrencyLimit, createLimiter, type LimitRequest, rateLimit } from '@spillway/core';
import { algorithmByName } from '@spillway/core/algorithms';
import { liveControl } from '@spillway/core/control';
import { describe, expect, it } from 'vitest';
import { one, setUp, stepOf } from './refusals-set-up.js';

describe('a key that was refused', () => {
  it('is refused again without a call until exactly the promised moment, with the wait as of now', async () => {
    const { clock, ask } = setUp();
    await ask();
    expect(await ask()).toMatchObject({ allowed: false, retryAfterMs: 60_000, calls: 1 });
    clock.advance(20_000.5);
    expect(await ask()).toMatchObject({ allowed: false, retryAfterMs: 39_999.5, calls: 0 });
    clock.advance(39_999.499);
    expect(await ask()).toMatchObject({ allowed: false, retryAfterMs: 0.001, calls: 0 });
    clock.advance(0.001);
    expect(await ask()).toMatchObject({ allowed: true, calls: 1 });
  });

  it('is asked for again once a minute, in case somebody else has set it free', async () => {
    const { store, clock, ask } = setUp(rateLimit({ name: 'one', limit: 1, window: '30d' }));
    await ask();
    await ask();
    clock.advance(59_999);
    expect(await ask()).toMatchObject({ allowed: false, calls: 0 });
    clock.advance(1);
    expect(await ask()).toMatchObject({ allowed: false, calls: 1 });
    const operator = createLimiter(
      { name: 'one', limit: 1, window: '30d' },
      { store: store.memory },
    );
    operator.reset('@203.0.113.7');
    clock.advance('1m');
    expect(await ask()).toMatchObject({ allowed: true, calls: 1 });
  });

  it('keeps no other key', async () => {
    const { ask } = setUp();
    await ask();
    await ask();
    expect(await ask({ clientIp: '203.0.113.8' })).toMatchObject({ allowed: true });
  });

  it('passes at a cost that passes', async () => {
    const cost = ({ path }: LimitRequest) => Number(path);
    const { ask } = setUp(rateLimit({ name: 'ten', limit: 10, window: '1m', cost }));
    await ask({ path: '6' });
    expect(await ask({ path: '5' })).toMatchObject({ allowed: false, calls: 1 });
    expect(await ask({ path: '9' })).toMatchObject({ allowed: false, calls: 0 });
    expect(await ask({ path: '2' })).toMatchObject({ allowed: true, calls: 1 });
    // That changed how long the other requests must wait.
    expect(await ask({ path: '5' })).toMatchObject({ retryAfterMs: 18_000, calls: 1 });
    expect(await ask({ path: '5' })).toMatchObject({ retryAfterMs: 18_000, calls: 0 });
  });

  it('is told its own wait at a higher cost, and asked for where that is not known', async () => {
    const cost = ({ path }: LimitRequest) => Number(path);
    for (const [algorithm, calls] of [
      ['token-bucket', 0],
      ['sliding-window-log', 1],
    ] as const) {
      const { clock, ask } = setUp(
        rateLimit({
          name: 'ten',
          limit: 10,
          window: '1m',
          cost,
          algorithm: algorithmByName(algorithm),
        }),
      );
      await ask({ path: '5' });
      clock.advance('3s');
      await ask({ path: '5' });
      await ask({ path: '3' });
      const retryAfterMs = algorithm === 'token-bucket' ? 45_000 : 60_000;
      expect(await ask({ path: '8' })).toMatchObject({ allowed: false, retryAfterMs, calls });
    }
  });

  it('is asked for again when the limit has changed', async () => {
    const limits = { one: { limits: { limit: 1 } } };
    const control = liveControl({
      settingsOf: () => limits.one,
      overrideOf: () => undefined,
    });
    const { clock, ask } = setUp(one, { control });
    await ask();
    clock.advance(1);
    await ask();
    expect(await ask()).toMatchObject({ calls: 0 });
    limits.one = { limits: { limit: 5 } };
    expect(await ask()).toMatchObject({ calls: 1 });
  });

  it('is asked for always if told so', async () => {
    const { ask } = setUp(one, { denialCache: false });
    await ask();
    for (let i = 0; i < 3; i += 1) expect(await ask()).toMatchObject({ allowed: false, calls: 1 });
  });

  it('costs the other limiters of the guard nothing', async () => {
    const other = rateLimit({ name: 'other', limit: 10, window: '1m' });
    const { store, admit } = setUp([one, other]);
    await admit();
    await admit();
    const { asked } = store;
    expect((await admit()).decisions.map(({ outcome }) => outcome)).toEqual(['denied', 'skipped']);
    expect(store.asked).toBe(asked);
  });
});

describe('what is not remembered', () => {
  it('is a limit on what is in progress', async () => {
    const { admit, ask } = setUp(concurrencyLimit({ name: 'at once', limit: 1 }));
    const first = await admit();
    expect(await ask()).toMatchObject({ allowed: false, calls: 1 });
    expect(await ask()).toMatchObject({ allowed: false, calls: 1 });
    await first.release({});
    expect(await ask()).toMatchObject({ allowed: true });
  });

  it('is a refusal in shadow, nor is one served there', async () => {
    let mode: 'shadow' | 'enforce' = 'shadow';
    const { ask } = setUp(rateLimit({ name: 'one', limit: 1, window: '1m', mode: () => mode }));
    await ask();
    for (let i = 0; i < 2; i += 1) {
      expect(await ask()).toMatchObject({ outcome: 'would-deny', calls: 1 });
    }
    mode = 'enforce';
    expect(await ask()).toMatchObject({ outcome: 'denied', calls: 1 });
    mode = 'shadow';
    expect(await ask()).toMatchObject({ outcome: 'would-deny', calls: 1 });
  });

  it('is an answer that the store did not give', async () => {
    const { store, ask } = setUp(one, { onStoreError: 'deny', breaker: false, logger: false });
    const { memory } = store;
    await ask();
    Object.assign(store, {
      memory: {
        apply() {
          throw new Error('gone');
        },
      },
    });
    for (let i = 0; i < 2; i += 1)
      expect(await ask()).toMatchObject({ outcome: 'error', calls: 1 });
    Object.assign(store, { memory });
    expect(await ask()).toMatchObject({ outcome: 'denied', calls: 1 });
  });

  it('are more than 50,000 keys: the oldest are asked for again', async () => {
    const many = rateLimit({ name: 'many', limit: 1, window: '1m', key: ({ path }) => path });
    const { store, ask } = setUp(many);
    const refuse = async (path: string) => {
      store.memory.apply([{ ...stepOf(many, path), op: 'record' }]);
      expect(await ask({ path })).toMatchObject({ allowed: false, calls: 1 });
    };
    for (let i = 0; i < 50_001; i += 1) await refuse(`${i}`);
    expect(await ask({ path: '50000' })).toMatchObject({ calls: 0 });
    expect(await ask({ path: '1' })).toMatchObject({ calls: 0 });
    expect(await ask({ path: '0' })).toMatchObject({ calls: 1 });
  });
});
describe('what is given back', () => {
  const failuresOnly = rateLimit({
    name: 'logins',
    limit: 1,
    window: '1m',
    refundIf: (_, { status }) => status === 200,
  });

  it('by a request that is over sets its key free', async () => {
    const { admit, ask } = setUp(failuresOnly);
    const first = await admit();
    expect(await ask()).toMatchObject({ allowed: false });
    expect(await ask()).toMatchObject({ allowed: false, calls: 0 });
    await first.release({ status: 200 });
    expect(await ask()).toMatchObject({ allowed: true });
  });

  it('while a refusal is on its way is not undone by it', async () => {
    const { store, admit, ask } = setUp(failuresOnly);
    const first = await admit();
    store.held = [];
    const refused = admit(); // decided now, answered later
    await Promise.resolve();
    const release = first.release({ status: 200 });
    const [answerRefusal, answerRelease] = store.held;
    answerRefusal?.();
    expect((await refused).allowed).toBe(false);
    answerRelease?.();
    await release;
    store.held = undefined;
    expect(await ask()).toMatchObject({ allowed: true, calls: 1 });
  });

  it('by a reset or a refund of a limiter of the same name in this process sets the key free in the guard', async () => {
    const limiter = rateLimit({ name: 'logins', limit: 1, window: '1m', key: ({ path }) => path });
    const { store, ask } = setUp(limiter);
    const direct = createLimiter({ name: 'logins', limit: 1, window: '1m' }, { store });
    const granted = await direct.consume('ada');
    expect(await ask({ path: 'ada' })).toMatchObject({ allowed: false, calls: 1 });
    expect(await ask({ path: 'ada' })).toMatchObject({ allowed: false, calls: 0 });
    await direct.refund(granted);
    expect(await ask({ path: 'ada' })).toMatchObject({ allowed: true });
    expect(await ask({ path: 'ada' })).toMatchObject({ allowed: false });
    await direct.reset('ada');
    expect(await ask({ path: 'ada' })).toMatchObject({ allowed: true });
  });
});
