/** Claims that no store decides: a full memory, a store that fails or answers junk, resets of a key, deadlines. */

import { type Answer, memoryStore, type Step, type Store } from '@spillway/core';
import {
  askParts,
  type ClaimsAnswer,
  KnownCounts,
  makeClaimsRule,
  makeRule,
  type Op,
  partsOf,
  remoteStore,
  stateStore,
  withDeadline,
} from '@spillway/core/store';
import { ManualClock } from '@spillway/core/testing';
import { describe, expect, it } from 'vitest';
import { StoreClient } from '../src/stores/store-client.js';

const SECOND = 1_000_000;
const rule = makeClaimsRule(30 * SECOND, 86_400 * SECOND);
const bucket = makeRule('token-bucket', 2, 60 * SECOND);

function step(op: Op, id: string, owner = 1, other: Partial<Step> = {}): Step {
  const claim = { id, owner: `${owner}`.padStart(16, 'o') };
  return { op, limiter: 'once', key: 'ada', rule, cost: 1, binding: true, claim, ...other };
}

const limit: Step = {
  op: 'take',
  limiter: 'api',
  key: 'ada',
  rule: bucket,
  cost: 1,
  binding: true,
};

function full(maxEntries = 4) {
  const clock = new ManualClock();
  const store = memoryStore({ clock, maxEntries });
  const ask = (one: Step) => store.apply([one])[0] as ClaimsAnswer;
  for (let at = 0; at < maxEntries; at += 1) ask(step('take', `old ${at}`));
  return { clock, store, ask };
}

describe('in a full memory', () => {
  it.each(['take', 'record', 'done'] as const)('a claim without room fails closed: %s', (op) => {
    const { store, ask } = full();
    const answer = ask(step(op, 'new'));
    expect(answer).toMatchObject({ allowed: false, state: 'free' });
    expect(answer.failure).toMatchObject({ code: 'SPW_STORE_ERROR', kind: 'full' });
    expect(store.size).toBe(4);
  });

  it('it passes where the limiter says so, and is not kept', () => {
    const { ask } = full();
    const open = (owner: number) => ask(step('take', 'new', owner, { onStoreError: 'allow' }));
    for (const owner of [1, 2]) expect(open(owner)).toMatchObject({ allowed: true });
  });

  it('nothing of its group is charged', () => {
    const { store, ask } = full();
    ask(step('put', 'old 0'));
    store.apply([limit]);
    const [claim, beside] = store.apply([step('take', 'new'), limit]);
    expect(claim).toMatchObject({ allowed: false, failure: { kind: 'full' } });
    expect(beside).toMatchObject({ allowed: true });
    expect(store.apply([limit])[0]).toMatchObject({ allowed: true });
    expect(store.apply([limit])[0]).toMatchObject({ allowed: false });
  });

  it('claims that are there are renewed, marked as done, given up and looked at', () => {
    const { ask } = full();
    expect(ask(step('record', 'old 0'))).toMatchObject({ allowed: true, state: 'running' });
    expect(ask(step('take', 'old 0', 2))).toMatchObject({ allowed: false, state: 'running' });
    expect(ask(step('done', 'old 1'))).toMatchObject({ allowed: true, state: 'done' });
    expect(ask(step('look', 'new')).failure).toBeUndefined();
    expect(ask(step('put', 'new'))).toMatchObject({ allowed: false, state: 'free' });
    expect(ask(step('reset', 'new')).failure).toBeUndefined();
    expect(ask(step('put', 'old 2'))).toMatchObject({ allowed: true });
    expect(ask(step('take', 'new'))).toMatchObject({ allowed: true, state: 'running' });
  });

  it('those that are over make room, however many come', () => {
    const { clock, store, ask } = full(100);
    clock.advance('30s');
    for (let at = 0; at < 1_000; at += 1) ask(step('take', `flood ${at}`));
    expect(store.size).toBe(100);
    expect(ask(step('take', 'flood 0', 2))).toMatchObject({ allowed: false, state: 'running' });
  });

  it('shared counts of others change nothing for claims', () => {
    const { ask, store } = full();
    for (let at = 0; at < 20; at += 1) store.apply([{ ...limit, key: `${at}` }]);
    expect(store.overflowed).toBe(20);
    expect(ask(step('take', 'old 0', 2))).toMatchObject({
      allowed: false,
      owner: 'o'.repeat(15) + 1,
    });
    expect(ask(step('take', 'new'))).toMatchObject({ allowed: false });
    expect(store.overflowed).toBe(20);
  });
});

describe('where the store fails', () => {
  const down = (): Store =>
    remoteStore({ sync: false, apply: () => Promise.reject(new Error('down')) });
  const client = (store: Store) => new StoreClient({ store, logger: false }, undefined, []);
  const askOf = async (one: StoreClient, steps: readonly Step[]) =>
    one.link.ask(steps, (answers) => answers);
  const askAt = (store: Store, steps: readonly Step[]) => askOf(client(store), steps);

  it.each([
    ['take', undefined, false],
    ['take', 'deny', false],
    ['take', 'allow', true],
    ['look', 'allow', true],
    ['record', 'allow', false],
    ['done', 'allow', false],
    ['put', 'allow', false],
  ] as const)('a %s with onStoreError %s: %s', async (op, onStoreError, allowed) => {
    const [answer] = await askAt(down(), [
      step(op, 'id', 1, onStoreError === undefined ? {} : { onStoreError }),
    ]);
    expect(answer).toMatchObject({ allowed, failure: { message: 'down' } });
  });

  it('nothing counts in its place, even where a rule is given by mistake', async () => {
    const asked = step('take', 'id', 1, { onStoreError: rule });
    for (let at = 0; at < 2; at += 1) {
      expect(await askAt(down(), [asked])).toMatchObject([{ allowed: false }]);
    }
    expect(() => memoryStore().apply([asked])).toThrowError(/has a rule as onStoreError/);
  });

  it('no refusal is remembered: who gives up a claim may do so elsewhere', async () => {
    const shared = memoryStore();
    let asked = 0;
    const far: Store = remoteStore({
      sync: false,
      apply: async (steps) => {
        asked += 1;
        return shared.apply(steps);
      },
    });
    const one = client(far);
    await askOf(one, [step('take', 'id')]);
    for (let at = 0; at < 3; at += 1) {
      expect(one.link.known(step('take', 'id', 2))).toBeUndefined();
      expect(await askOf(one, [step('take', 'id', 2)])).toMatchObject([{ allowed: false }]);
    }
    expect(asked).toBe(4);
  });

  const held = { allowed: false, nowUs: 1, endsUs: 2, owner: 'o', note: '', state: 'running' };
  it.each([
    ['no state', { ...held, state: undefined }],
    ['another state', { ...held, state: 'paused' }],
    ['no owner', { ...held, owner: undefined }],
    ['a note that is none', { ...held, note: 7 }],
    ['no end', { ...held, endsUs: Number.NaN }],
  ])('an answer with %s is none', async (_, answer) => {
    const junk: Store = remoteStore({ sync: true, apply: () => [answer as unknown as Answer] });
    expect(await askAt(junk, [step('take', 'id')])).toMatchObject([
      { allowed: false, failure: { code: 'SPW_STORE_ERROR', kind: 'reply' } },
    ]);
    const right: Store = remoteStore({ sync: true, apply: () => [held as Answer] });
    expect(await askAt(right, [step('take', 'id')])).toEqual([held]);
  });
});

describe('a group in parts', () => {
  it('gives the claim back if another part refuses', async () => {
    const store = memoryStore();
    const other = { ...limit, key: 'bob', cost: 2 };
    store.apply([other]);
    const steps = [step('take', 'id'), other];
    const answers = await askParts(
      partsOf(steps, ({ key }) => key),
      (own) => store.apply(own),
    );
    expect(answers).toMatchObject([{ allowed: true, state: 'free' }, { allowed: false }]);
    expect(store.apply([step('take', 'id', 2)])).toMatchObject([{ allowed: true }]);
  });

  it('charges nothing if the claim is held', async () => {
    const store = memoryStore();
    store.apply([step('take', 'id')]);
    const steps = [step('take', 'id', 2), { ...limit, key: 'bob' }];
    for (let at = 0; at < 5; at += 1) {
      await askParts(
        partsOf(steps, ({ key }) => key),
        (own) => store.apply(own),
      );
    }
    const look = store.apply([{ ...limit, key: 'bob', cost: 2 }]);
    expect(look).toMatchObject([{ allowed: true }]);
    // And its owner still runs it.
    expect(store.apply([step('look', 'id', 2)])).toMatchObject([{ state: 'running' }]);
  });
});

describe('a reset', () => {
  it('of a claim is no reset of the other counts of its limiter', () => {
    const known = new KnownCounts();
    for (const each of [rule, bucket]) known.note('once', each);
    expect(known.otherResets(step('reset', 'id'))).toEqual([]);
    const { claim: _, ...ofKey } = step('reset', 'id');
    expect(known.otherResets(ofKey)).toEqual([{ ...ofKey, rule: bucket }]);
  });

  it('of a key leaves its claims', () => {
    const store = memoryStore();
    for (const each of [bucket, rule]) store.register?.('once', each);
    const count: Step = { ...limit, limiter: 'once', cost: 2 };
    store.apply([step('take', 'id'), step('take', ''), count]);
    store.apply([{ ...count, op: 'reset' }]);
    expect(store.apply([count])).toMatchObject([{ allowed: true }]);
    for (const id of ['id', '']) {
      expect(store.apply([step('take', id, 2)])).toMatchObject([{ allowed: false }]);
    }
  });
});

describe('what only ends something', () => {
  const ends = [step('done', 'id'), { ...limit, op: 'put' as const }];

  it('is given to a store without a deadline', async () => {
    const deadlines: unknown[] = [];
    const shared = memoryStore();
    const far = withDeadline(
      remoteStore({
        sync: false,
        apply: async (steps, options) => {
          deadlines.push(options?.deadlineUs);
          return shared.apply(steps);
        },
      }),
      50_000,
    );
    await far.apply(ends);
    const background = far.apply(ends, { deadlineUs: 1, background: true });
    await Promise.resolve(background).catch(() => undefined);
    await far.apply([...ends, { ...limit, key: 'bob' }]);
    expect(deadlines).toEqual([Infinity, Infinity, expect.any(Number)]);
    expect(deadlines[2]).toBeLessThan(Infinity);
  });

  it('is done by a database after its deadline, and nothing else is', async () => {
    const rows = new Map<string, { text: string }>();
    const store = stateStore({
      async transact(names, decide) {
        for (const [name, state] of decide(
          names.map((name) => rows.get(name)?.text),
          1_767_225_600_000_000,
        )) {
          if (state) rows.set(name, state);
          else rows.delete(name);
        }
      },
    });
    const late = { deadlineUs: 1 };
    expect(await store.apply(ends, late)).toMatchObject([{ state: 'done' }, { allowed: false }]);
    expect([...rows]).toMatchObject([
      ['1{ada}once}c:id', { text: `1767312000000000d${'o'.repeat(15)}1` }],
    ]);
    await expect(store.apply([...ends, { ...limit, key: 'bob' }], late)).rejects.toMatchObject({
      code: 'SPW_STORE_TIMEOUT',
    });
    const name = { limiter: 'once', key: 'ada', id: 'id' };
    await expect(store.values?.get(name, late)).rejects.toMatchObject({
      code: 'SPW_STORE_TIMEOUT',
    });
  });
});
