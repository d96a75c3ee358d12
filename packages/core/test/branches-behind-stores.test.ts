/** Groups with branches, on their way to a store that answers later and may fail. */

import { type Answer, memoryStore, type Step, type Store } from '@spillway/core';
import { makeRule, measure, remoteStore } from '@spillway/core/store';
import { ManualClock } from '@spillway/core/testing';
import { describe, expect, it } from 'vitest';
import { StoreClient, type StoreClientOptions } from '../src/stores/store-client.js';
import { pick, seeded } from './net/random.js';

/** A store whose parts are named by the first letter of a key. What is down rejects. */
class Far implements Store {
  readonly sync = false;
  readonly clock = new ManualClock();
  readonly testClock = this.clock;
  readonly memory = memoryStore({ clock: this.clock });
  readonly down = new Set<string>();
  calls = 0;

  domainOf({ key }: Step): string {
    return key.charAt(0);
  }

  async apply(steps: readonly Step[]): Promise<readonly Answer[]> {
    this.calls += 1;
    if (steps.some((step) => this.down.has(this.domainOf(step)))) throw new Error('down');
    return this.memory.apply(steps);
  }
}

type Other = Partial<Omit<Step, 'rule'>> & { readonly limit?: number };

function take(key: string, { limit = 3, ...other }: Other = {}): Step {
  const rule = makeRule('token-bucket', limit, 3_600_000_000);
  return {
    op: 'take',
    limiter: `limit ${limit}`,
    key,
    rule,
    cost: 1,
    binding: true,
    onStoreError: rule,
    ...other,
  };
}

function setUp(store: Far = remoteStore(new Far()), options: StoreClientOptions = {}) {
  const settings = {
    store,
    clock: store.clock,
    logger: false,
    breaker: false,
    ...options,
  } as const;
  const client = new StoreClient(settings, undefined, []);
  const ask = async (steps: readonly Step[]): Promise<readonly Answer[]> =>
    client.ask(steps, (answers) => answers);
  const branch = async (steps: readonly Step[]) => {
    const branches = new Set((await ask(steps)).map((answer) => answer.branch));
    expect(branches.size).toBe(1);
    return [...branches][0];
  };
  const outage = () => {
    for (const part of 'abc') store.down.add(part);
  };
  /** Units that are left for the key of a step: by the stand-in, if the store is down. */
  const left = async (step: Step) => {
    const { branch: _, ...look } = step;
    const [answer] = await ask([{ ...look, op: 'look' }]);
    return measure(step.rule, answer as Answer, 1).remaining;
  };
  return { store, client, ask, branch, outage, left };
}

const common = take('a', { limit: 9 });
const first = take('a1', { limit: 1, branch: 1 });
const second = take('a2', { branch: 2 });
const group = [common, first, second];

describe('the stand-in', () => {
  it('charges the branch that the store has charged', async () => {
    const { branch, outage, left } = setUp();
    expect(await branch(group)).toBe(1);
    expect(await branch(group)).toBe(2);
    outage();
    expect([await left(common), await left(first), await left(second)]).toEqual([7, 0, 2]);
  });

  it('charges nothing that the store has refused', async () => {
    const { branch, outage, left } = setUp();
    const all = [common, first, take('a3', { limit: 1, branch: 2 })];
    for (const expected of [1, 2, 0, 0]) expect(await branch(all)).toBe(expected);
    outage();
    expect(await left(common)).toBe(7);
  });

  it('goes on to the next branch in an outage, and charges one only', async () => {
    const { branch, outage, left } = setUp();
    outage();
    for (const expected of [1, 2, 2, 2, 0]) expect(await branch(group)).toBe(expected);
    expect([await left(common), await left(first), await left(second)]).toEqual([5, 0, 0]);
  });

  it('gives receipts for the common steps and the charged branch', async () => {
    const { ask, outage } = setUp();
    outage();
    const receipts = async () => (await ask(group)).map(({ standIn }) => standIn !== undefined);
    expect(await receipts()).toEqual([true, true, false]);
    expect(await receipts()).toEqual([true, false, true]);
  });

  it('takes back what it charged in a branch', async () => {
    const { ask, client, outage, left } = setUp();
    outage();
    const [, answer] = await ask(group);
    const { branch: _, ...put } = first;
    const standIn = (answer as Answer).standIn;
    if (!standIn) throw new Error('no receipt');
    const receipt = { atUs: -1, num: 0, units: 1, standIn };
    const given = await client.giveBack([{ ...put, op: 'put', receipt }], ([own]) => own);
    expect(given?.allowed).toBe(true);
    expect(await left(first)).toBe(1);
  });

  it('answers in an outage as a memory store would, and has followed all before it', async () => {
    const random = seeded(11);
    for (let run = 0; run < 60; run += 1) {
      const { ask, store, outage } = setUp();
      const alone = memoryStore({ clock: store.clock });
      for (let at = 0; at < 12; at += 1) {
        if (at === 6) outage();
        const steps = ['a', 'a1', 'a2', 'a3', 'a4'].flatMap((key) => {
          const branch = pick(random, [undefined, undefined, 1, 2, 3]);
          const limit = pick(random, [1, 2, 4]);
          const step = take(key, { limit, cost: pick(random, [0, 1, 2]), binding: random(10) < 8 });
          return random(10) < 2 ? [] : [branch === undefined ? step : { ...step, branch }];
        });
        const told = await ask(steps);
        const plain = ({ allowed, branch, ...numbers }: Answer, step: Step) => ({
          allowed,
          branch,
          ...measure(step.rule, { allowed, ...numbers }, step.cost),
        });
        const wanted = alone.apply(steps).map((one, i) => plain(one, steps[i] as Step));
        expect(told.map((one, i) => plain(one, steps[i] as Step))).toEqual(wanted);
      }
    }
  });
});

describe('what a step is to do in an outage', () => {
  it('closes its branch, if it is to refuse', async () => {
    const { branch, outage, left } = setUp();
    outage();
    expect(await branch([common, { ...first, onStoreError: 'deny' }, second])).toBe(2);
    expect([await left(common), await left(first), await left(second)]).toEqual([8, 1, 2]);
  });

  it('closes the group, if it is to refuse and is common', async () => {
    const { branch, outage, left } = setUp();
    outage();
    expect(await branch([{ ...common, onStoreError: 'deny' }, first, second])).toBe(0);
    expect([await left(first), await left(second)]).toEqual([1, 3]);
  });

  it('lets its branch pass before those that are counted', async () => {
    const { branch, outage, left } = setUp();
    outage();
    expect(await branch([common, { ...first, onStoreError: 'allow' }, second])).toBe(1);
    expect([await left(common), await left(second)]).toEqual([8, 3]);
  });
});

describe.each([
  ['fails', false],
  ['is known not to answer', { failures: 1, probeEvery: '1h' }],
] as const)('a part of the store that %s', (_, breaker) => {
  const inA = take('a1', { limit: 1, branch: 1 });
  const inB = take('b2', { branch: 2 });
  const both = [take('b', { limit: 9 }), inA, inB];

  async function withoutA() {
    const all = setUp(remoteStore(new Far()), { breaker });
    all.store.down.add('a');
    await all.ask([take('a')]);
    const stored = (step: Step) => {
      const { branch: __, ...look } = step;
      const [answer] = all.store.memory.apply([{ ...look, op: 'look' }]);
      return measure(step.rule, answer as Answer, 1).remaining;
    };
    return { ...all, stored };
  }

  it('closes a branch by its policy, and the store charges the next', async () => {
    const { branch, stored } = await withoutA();
    const denied = both.map((step) => (step === inA ? { ...step, onStoreError: 'deny' } : step));
    expect(await branch(denied as Step[])).toBe(2);
    expect(both.map(stored)).toEqual([8, 1, 2]);
  });

  it('has its branch charged by the stand-in, and no other', async () => {
    const { branch, stored, left } = await withoutA();
    expect(await branch(both)).toBe(1);
    expect(await left(inA)).toBe(0);
    expect(both.map(stored)).toEqual([8, 1, 3]);
    expect(await branch(both)).toBe(2);
    expect(both.map(stored)).toEqual([7, 1, 2]);
  });

  it('leaves nothing charged if what the others share is refused', async () => {
    const { branch, ask, stored, left } = await withoutA();
    await ask([take('b', { limit: 9, cost: 9 })]);
    expect(await branch(both)).toBe(0);
    expect([await left(inA), stored(inB)]).toEqual([1, 3]);
  });
});

describe('a store that does not know branches', () => {
  class Plain extends Far {
    override apply(steps: readonly Step[]) {
      return super.apply(steps.map(({ branch: _, ...step }) => step));
    }
  }

  it('has given no answer', async () => {
    const { ask } = setUp(remoteStore(new Plain()));
    const answers = await ask(group);
    expect(answers.map(({ failure }) => failure)).toMatchObject(
      group.map(() => ({ code: 'SPW_STORE_ERROR', kind: 'reply' })),
    );
    const [alone] = await ask([common]);
    expect(alone?.failure).toBeUndefined();
  });
});
