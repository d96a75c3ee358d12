/** The store over any database: what it asks of the database, when it does not, and how errors are reported. */

import { createLimiter, type Step } from '@spillway/core';
import {
  countOf,
  type Decide,
  encodeName,
  makeLeasesRule,
  makeRule,
  type Op,
  type Rule,
  type StateBackend,
  stateStore,
  systemClock,
} from '@spillway/core/store';
import { afterEach, describe, expect, it, vi } from 'vitest';

const NOW = 1_767_225_600_000_000;
const minute = makeRule('token-bucket', 2, 60_000_000);
const hour = makeRule('token-bucket', 9, 3_600_000_000);

function step(op: Op, key = 'ada', rule: Rule = minute, extras: Partial<Step> = {}): Step {
  return { op, limiter: 'api', key, rule, cost: 1, binding: true, ...extras };
}

function nameOf(key: string, rule: Rule = minute): string {
  return encodeName('api', key, countOf({ rule }));
}

/** A database in a map, which records its calls. */
class Rows implements StateBackend {
  readonly rows = new Map<string, string>();
  readonly asked: (readonly string[])[] = [];
  readonly changed: string[] = [];

  async transact(names: readonly string[], decide: Decide): Promise<void> {
    this.asked.push(names);
    const texts = names.map((name) => this.rows.get(name));
    for (const [name, state] of decide(texts, NOW)) {
      this.changed.push(name);
      if (state) this.rows.set(name, state.text);
      else this.rows.delete(name);
    }
  }
}

function setUp() {
  const backend = new Rows();
  return { backend, store: stateStore(backend) };
}

afterEach(() => vi.restoreAllMocks());

describe('a transaction', () => {
  it('has the name of each count once, in ascending order', async () => {
    const { backend, store } = setUp();
    const permit = (id: string) =>
      step('record', 'eve', makeLeasesRule(2, 60_000_000), { lease: { id, critical: false } });
    await store.apply([step('take', 'bob'), step('take'), step('take'), permit('x'), permit('y')]);
    expect(backend.asked).toEqual([[nameOf('ada'), nameOf('bob'), '1{eve}api}p']]);
    expect(backend.rows.get('1{eve}api}p')).toContain('["x"');
    expect(backend.rows.get('1{eve}api}p')).toContain('["y"');
  });

  it('changes nothing for a refusal, a look, or a reset of what is not there', async () => {
    const { backend, store } = setUp();
    await store.apply([step('take'), step('take', 'bob')]);
    backend.changed.length = 0;
    const [ada, bob] = await store.apply([
      step('take', 'ada', minute, { cost: 2 }),
      step('take', 'bob'),
    ]);
    expect([ada?.allowed, bob?.allowed]).toEqual([false, true]);
    await store.apply([step('look'), step('reset', 'eve')]);
    expect(backend.changed).toEqual([]);
    await store.apply([step('reset')]);
    expect(backend.changed).toEqual([nameOf('ada')]);
    expect([...backend.rows.keys()]).toEqual([nameOf('bob')]);
  });

  it('writes no text again that only time has made another', async () => {
    const { backend, store } = setUp();
    const window = makeRule('sliding-window-counter', 2, 60_000_000);
    backend.rows.set(nameOf('ada', window), `${NOW - 60_000_000}:2:0`); // its window is over
    backend.rows.set(nameOf('bob'), `${NOW + 3_600_000_000}`); // the clock went back
    const asked = [step('take', 'ada', window, { cost: 2 }), step('look', 'bob')];
    expect(await store.apply(asked)).toMatchObject([{ previous: 2, allowed: false }, {}]);
    expect(backend.changed).toEqual([]);
    await store.apply([step('take', 'bob')]);
    expect(backend.changed).toEqual([nameOf('bob')]); // repaired
  });

  it('is not begun for no steps, for more than 1,000, or for a group that is not valid', async () => {
    const { backend, store } = setUp();
    expect(await store.apply([])).toEqual([]);
    const many = Array.from({ length: 1_001 }, (_, i) => step('look', `k${i}`));
    await expect(store.apply(many)).rejects.toMatchObject({ code: 'SPW_GROUP_TOO_LARGE' });
    const twice = [step('take'), step('look')];
    await expect(store.apply(twice)).rejects.toMatchObject({ code: 'SPW_GROUP_INVALID' });
    await expect(store.apply([step('hold')])).rejects.toMatchObject({
      code: 'SPW_GROUP_INVALID',
      message: expect.stringContaining('needs a rule of makeShaperRule or makeLockRule'),
    });
    expect(backend.asked).toEqual([]);
  });

  it('counts once, though it decides again', async () => {
    const rows = new Rows();
    const store = stateStore({
      async transact(names, decide) {
        decide(
          names.map(() => undefined),
          NOW + 5,
        );
        decide(
          names.map(() => 'a text of nobody'),
          NOW,
        );
        await rows.transact(names, decide);
      },
    });
    expect(await store.apply([step('take')])).toMatchObject([{ allowed: true, nowUs: NOW }]);
    expect(await store.apply([step('take')])).toMatchObject([{ allowed: true }]);
    expect(await store.apply([step('take')])).toMatchObject([{ allowed: false }]);
  });
});

describe('a reset', () => {
  it('forgets the key in all counts of its limiter that the store was told of', async () => {
    const { backend, store } = setUp();
    store.register?.('api', minute);
    store.register?.('api', hour);
    await store.apply([step('take'), step('take', 'ada', hour), step('take', 'bob', hour)]);
    expect(await store.apply([step('reset')])).toMatchObject([{ allowed: true }]);
    expect([...backend.rows.keys()]).toEqual([nameOf('bob', hour)]);
  });

  it('also deletes a text that is not ours', async () => {
    const { backend, store } = setUp();
    backend.rows.set(nameOf('ada'), 'a text of nobody');
    await store.apply([step('reset')]);
    expect(backend.rows.size).toBe(0);
  });
});

describe('a deadline', () => {
  it('that has passed begins no transaction', async () => {
    const { backend, store } = setUp();
    vi.spyOn(systemClock, 'nowUs').mockReturnValue(1_001);
    await expect(store.apply([step('take')], { deadlineUs: 1_000 })).rejects.toMatchObject({
      code: 'SPW_STORE_TIMEOUT',
    });
    expect(backend.asked).toEqual([]);
    expect(await store.apply([step('take')], { deadlineUs: 1_001 })).toHaveLength(1);
  });

  it('that passes before the decision charges nothing', async () => {
    const rows = new Rows();
    const clock = vi.spyOn(systemClock, 'nowUs').mockReturnValue(1_000);
    const store = stateStore({
      transact(names, decide) {
        clock.mockReturnValue(1_001);
        return rows.transact(names, decide);
      },
    });
    await expect(store.apply([step('take')], { deadlineUs: 1_000 })).rejects.toMatchObject({
      code: 'SPW_STORE_TIMEOUT',
      message: expect.stringContaining('deadline passed before the database could decide'),
    });
    expect(rows.asked).toHaveLength(1);
    expect(rows.changed).toEqual([]);
  });

  it('is none for a group that only gives back', async () => {
    const { backend, store } = setUp();
    const [grant] = await store.apply([step('take')]);
    vi.spyOn(systemClock, 'nowUs').mockReturnValue(2_000);
    const receipt = { atUs: grant && 'tatUs' in grant ? grant.tatUs : 0, num: 0, units: 1 };
    const put = step('put', 'ada', minute, { receipt });
    expect(await store.apply([put], { deadlineUs: 1_000 })).toMatchObject([{ allowed: true }]);
    expect(backend.rows.size).toBe(0);
    await expect(
      store.apply([put, step('take', 'bob')], { deadlineUs: 1_000 }),
    ).rejects.toMatchObject({ code: 'SPW_STORE_TIMEOUT' });
  });
});

describe('errors', () => {
  it('of a text that is not ours are about this call, and nothing of the group is written', async () => {
    const { backend, store } = setUp();
    backend.rows.set(nameOf('ada'), 'a text of nobody');
    for (const other of [step('take', 'bob'), step('record', 'bob')]) {
      await expect(store.apply([other, step('take')])).rejects.toMatchObject({
        code: 'SPW_STORE_ERROR',
        message: expect.stringContaining('the stored value is not one of this format'),
      });
    }
    expect([...backend.rows]).toEqual([[nameOf('ada'), 'a text of nobody']]);
  });

  it('of the database pass as they are', async () => {
    const error = new Error('connection lost');
    const failing = [
      () => Promise.reject(error),
      () => {
        throw error;
      },
    ];
    for (const transact of failing) {
      await expect(stateStore({ transact }).apply([step('take')])).rejects.toBe(error);
    }
    const lostAtTheEnd = stateStore({
      async transact(names, decide) {
        decide(
          names.map(() => undefined),
          NOW,
        );
        throw error;
      },
    });
    await expect(lostAtTheEnd.apply([step('take')])).rejects.toBe(error);
  });

  it.each<[string, (decide: Decide) => unknown]>([
    ['without a decision', () => undefined],
    ['with too few texts', (decide) => decide([], NOW)],
    ['with no list', (decide) => decide(undefined as never, NOW)],
    ['with a text that is none', (decide) => decide([null as never], NOW)],
    ['with a time that is no number', (decide) => decide([undefined], `${NOW}` as never)],
    ['with a time of parts', (decide) => decide([undefined], NOW + 0.5)],
    ['with a time before the epoch', (decide) => decide([undefined], -1)],
  ])('of a backend that ends %s are about this call', async (_, play) => {
    const store = stateStore({ transact: async (_names, decide) => void play(decide) });
    await expect(store.apply([step('take')])).rejects.toMatchObject({
      code: 'SPW_STORE_ERROR',
      message: expect.stringMatching(/^the backend /),
    });
  });

  it('tell who gives no backend', () => {
    for (const backend of [undefined, null, {}, { transact: 1 }, 'postgres://']) {
      expect(() => stateStore(backend as never)).toThrow(/backend must be an object/);
    }
  });
});

describe('what a backend may say of itself', () => {
  it('is what the store says', () => {
    const backend = Object.assign(new Rows(), {
      label: 'my database',
      testClock: { nowUs: () => NOW },
      denialsLastUs: 5,
      domainOf: ({ key }: Step) => `shard of ${key}`,
    });
    const store = stateStore(backend);
    expect(store).toMatchObject({ label: 'my database', denialsLastUs: 5, sync: false });
    expect(store.testClock?.nowUs()).toBe(NOW);
    expect(store.domainOf?.(step('take'))).toBe('shard of ada');
  });

  it('is left out where it says nothing', () => {
    const { store } = setUp();
    for (const member of ['label', 'testClock', 'denialsLastUs', 'domainOf'] as const) {
      expect(store[member]).toBeUndefined();
    }
  });

  it('shortens long keys and limiters, if it can hash', async () => {
    const long = 'k'.repeat(257);
    const plain = setUp();
    await plain.store.apply([step('take', long)]);
    expect(plain.backend.asked[0]).toEqual([`1{${long}}api}${countOf(step('take'))}`]);
    const rows = Object.assign(new Rows(), { hash: (text: string) => `h${text.length}` });
    await stateStore(rows).apply([step('take', long), step('take', 'k'.repeat(256))]);
    expect(rows.asked[0]).toContain(`1{#h257}api}${countOf(step('take'))}`);
    expect(rows.asked[0]).toContain(nameOf('k'.repeat(256)));
  });
});

describe('a name', () => {
  it('is another for every limiter, key and code, and can be stored anywhere', () => {
    const texts = [
      '',
      'a',
      'A',
      'a}b',
      '{',
      '%',
      '%-',
      '%007b',
      '#',
      '#a',
      'a#',
      '\u0000',
      '\n',
      '\ud83d',
      '\ude00',
      '\ud83d\ude00',
      'é',
      'e\u0301',
      ' ',
    ];
    const names = texts.flatMap((limiter) => texts.map((key) => encodeName(limiter, key, 'b1')));
    expect(new Set(names).size).toBe(texts.length ** 2);
    for (const name of names) {
      expect(name).not.toMatch(/\p{Cc}|\p{Surrogate}/u);
      expect(new TextDecoder().decode(new TextEncoder().encode(name))).toBe(name);
    }
    expect(encodeName('api', '{\u0000}', 'b1')).toBe('1{%007b%0000%007d}api}b1');
    expect(encodeName('', '#x', 'b1')).toBe('1{%0023x}%-}b1');
  });
});

describe('limiters over it', () => {
  it('count, refuse and give back', async () => {
    const { store } = setUp();
    const limiter = createLimiter({ name: 'login', limit: 2, window: '1m' }, { store });
    expect((await limiter.consume('ada')).remaining).toBe(1);
    const second = await limiter.consume('ada');
    expect((await limiter.consume('ada')).allowed).toBe(false);
    await limiter.refund(second);
    expect((await limiter.peek('ada')).remaining).toBe(1);
    await limiter.reset('ada');
    expect((await limiter.peek('ada')).remaining).toBe(2);
  });
});
