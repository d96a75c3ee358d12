/**
 * A store of several parts that fail independently, like the shards of a cluster: one part doesn't affect the others.
 */

import {
  type Answer,
  type BreakerEvent,
  createGuard,
  createLimiter,
  type GuardOptions,
  memoryStore,
  rateLimit,
  type Step,
  type Store,
} from '@spillway/core';
import { remoteStore } from '@spillway/core/store';
import { request } from 'spillway-testkit';
import { describe, expect, it } from 'vitest';

/** The first letter of a key names its part. */
class Sharded implements Store {
  readonly sync = false;
  readonly label = 'shards';
  readonly memory = memoryStore();
  readonly asked: (readonly Step[])[] = [];
  readonly down = new Set<string>();
  readonly silent = new Set<string>();

  domainOf({ key }: Step): string {
    return key.charAt(0);
  }

  async apply(steps: readonly Step[]): Promise<readonly Answer[]> {
    this.asked.push(steps);
    const parts = steps.map((step) => this.domainOf(step));
    if (parts.some((part) => this.silent.has(part))) return new Promise(() => undefined);
    if (parts.some((part) => this.down.has(part))) throw new Error('gone');
    return this.memory.apply(steps);
  }

  /** Calls for callers, as operations and keys. */
  get calls(): string[] {
    return this.asked
      .filter(([step]) => !step?.limiter.startsWith('\u0001'))
      .map((steps) => steps.map(({ op, key }) => `${op} ${key}`).join(', '));
  }
}

function setUp(options: Omit<GuardOptions, 'onDecision'> = {}) {
  const store = remoteStore(new Sharded());
  const warnings: string[] = [];
  const events: BreakerEvent[] = [];
  const logger = { warn: (line: string) => warnings.push(line) };
  const settings = {
    store,
    logger,
    breaker: { failures: 3, probeEvery: '1h' },
    ...options,
  } as const;
  const perKey = (name: string, limit = 2) =>
    rateLimit({ name, limit, window: '1h', key: ({ header }) => header(name) });
  const observers = [{ onBreaker: (event: BreakerEvent) => events.push(event) }];
  const guard = createGuard([perKey('user', 3), perKey('tenant')], {
    ...settings,
    denialCache: false,
    observers,
  });
  /** Outcomes for a user and a tenant. */
  const ask = async (user: string, tenant: string) => {
    const { decisions, allowed } = await guard.admit(request({ headers: { user, tenant } }));
    return [allowed, ...decisions.map(({ outcome }) => outcome)].join(' ');
  };
  const direct = createLimiter({ name: 'direct', limit: 2, window: '1h' }, { ...settings });
  /** Makes calls until the breaker knows that a part is down. */
  const learn = async (part: string) => {
    for (let i = 0; i < 3; i += 1) await direct.consume(`${part}${i}`);
    store.asked.length = 0;
  };
  return { store, warnings, events, ask, direct, learn };
}

describe('a store of which one part does not answer', () => {
  it('goes on deciding in the others, and is told of by the name of the part', async () => {
    const { store, warnings, events, direct, learn } = setUp();
    store.down.add('b');
    await learn('b');
    for (let i = 0; i < 50; i += 1) expect((await direct.consume(`b${i}`)).outcome).toBe('error');
    expect(store.calls).toEqual([]);
    const outcomes: string[] = [];
    for (let i = 0; i < 3; i += 1) outcomes.push((await direct.consume('a')).outcome);
    expect(outcomes).toEqual(['allowed', 'allowed', 'denied']);
    expect(warnings).toEqual([
      'Spillway: shards, b is failing (gone). Meanwhile: user, tenant, direct: local.',
    ]);
    expect(events).toMatchObject([{ state: 'open', part: 'b' }]);
  });

  it('has one breaker for each that fails', async () => {
    const { store, warnings, direct, learn } = setUp();
    store.down.add('b').add('c');
    await learn('b');
    await direct.consume('c');
    await direct.consume('c');
    expect(store.calls).toHaveLength(2); // not yet open
    await learn('c');
    expect(warnings).toHaveLength(2);
  });

  it('counts what lies in the others exactly, also in groups with one that is away, from the first', async () => {
    const { store, ask } = setUp();
    store.down.add('b');
    // User a may send three requests, whether the breaker is open yet or not.
    const said: string[] = [];
    for (let i = 0; i < 6; i += 1) said.push(await ask('a', `b${i}`));
    expect(said).toEqual([
      ...Array(3).fill('true allowed error'),
      ...Array(3).fill('false denied error'),
    ]);
  });

  it('waits for a part that is silent, and not longer for those beside it', async () => {
    const { store, ask } = setUp({ storeTimeout: '30ms' });
    store.silent.add('b');
    const said: string[] = [];
    for (let i = 0; i < 6; i += 1) said.push(await ask('a', `b${i}`));
    expect(said.filter((line) => line === 'true allowed error')).toHaveLength(3);
    expect(said.filter((line) => line === 'false denied error')).toHaveLength(3);
  });

  it('charges nothing where a policy refuses: known before, by a look; found out, by giving back', async () => {
    const { store, ask, learn } = setUp({ onStoreError: 'deny' });
    store.down.add('b');
    expect(await ask('a', 'b')).toBe('false allowed error');
    expect(store.calls).toEqual(['take a', 'take b', 'put a']);
    await learn('b');
    for (let i = 0; i < 20; i += 1) expect(await ask('a', 'b')).toBe('false allowed error');
    expect(new Set(store.calls)).toEqual(new Set(['look a']));
    const said = [
      await ask('a', 'd'),
      await ask('a', 'd'),
      await ask('a', 'e'),
      await ask('a', 'f'),
    ];
    expect(said.map((line) => line.split(' ')[0])).toEqual(['true', 'true', 'true', 'false']);
  });

  it('counts in this process what the others have let pass, and only that', async () => {
    const { store, ask, learn } = setUp({ onStoreError: 'local' });
    store.down.add('b');
    await learn('b');
    expect(await ask('a1', 'b')).toBe('true allowed error');
    for (let i = 0; i < 5; i += 1) await ask('a2', 'd'); // uses up a2's three, d's two
    for (let i = 0; i < 3; i += 1) await ask('a3', `c${i}`);
    for (let i = 0; i < 5; i += 1) expect(await ask('a3', 'b')).toBe('false denied error');
    expect(await ask('a1', 'b')).toBe('true allowed error'); // the second of b's two
    expect(await ask('a1', 'b')).toBe('false allowed error');
    // What the count there rejected was not charged there.
    expect(await ask('a1', 'c9')).toBe('true allowed allowed');
    expect(await ask('a1', 'c8')).toBe('false denied allowed');
  });

  it('answers by policy where all parts are away', async () => {
    const { store, ask, learn } = setUp();
    store.down.add('a').add('b');
    await learn('a');
    await learn('b');
    expect(await ask('a', 'b')).toBe('true error error');
    expect(store.calls).toEqual([]);
  });

  it('gives back in the others what a request gives back', async () => {
    const { store, direct, learn } = setUp();
    const group = await direct.consumeAll(['a', 'b']);
    expect(group.allowed).toBe(true);
    store.down.add('b');
    await learn('b');
    const [ofA, ofB] = group.decisions;
    expect(ofA && (await direct.refund(ofA))).toBe(true);
    expect(ofB && (await direct.refund(ofB))).toBe(false);
    expect((await direct.peek('a')).remaining).toBe(2);
  });
});

it('a store that names no end of parts, or throws, is one', async () => {
  for (const domainOf of [
    ({ key }: Step) => `part of ${key}`,
    () => {
      throw new Error('mine');
    },
  ]) {
    const store: Store = remoteStore({
      sync: false,
      domainOf,
      apply: async () => Promise.reject(new Error('gone')),
    });
    let opened = 0;
    const limiter = createLimiter(
      { name: 'a', limit: 2, window: '1h' },
      { store, breaker: { failures: 1, probeEvery: '1h' }, logger: { warn: () => (opened += 1) } },
    );
    for (let i = 0; i < 3_000; i += 1) await limiter.consume(`k${i}`);
    expect(opened).toBeLessThanOrEqual(1_001);
  }
});
