/** Groups for a store that answers later, and of which parts may fail. */

import { type Answer, memoryStore, type Step, type Store } from '@spillway/core';
import { makeRule, measure, remoteStore } from '@spillway/core/store';
import { ManualClock } from '@spillway/core/testing';
import { describe, expect, it } from 'vitest';
import { StoreClient, type StoreClientOptions } from '../src/stores/store-client.js';
import { pick, seeded } from './net/random.js';

/** A store whose parts are named by the first letter of a key. Parts that are down reject. */
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

function setUp(options: StoreClientOptions = {}) {
  const store = remoteStore(new Far());
  const settings = {
    store,
    clock: store.clock,
    logger: false,
    breaker: false,
    ...options,
  } as const;
  const client = new StoreClient(settings, undefined, []);
  const ask = async (steps: readonly Step[]): Promise<readonly Answer[]> =>
    client.link.ask(steps, (answers) => answers);
  const passes = async (steps: readonly Step[]) =>
    (await ask(steps)).every(({ allowed }) => allowed);
  const outage = () => {
    for (const part of 'abc') store.down.add(part);
  };
  /** Units left for the key of a step, in the fallback counters if the store is down. */
  const left = async (step: Step) => {
    const [answer] = await ask([{ ...step, op: 'look' }]);
    return measure(step.rule, answer as Answer, 1).remaining;
  };
  return { store, ask, passes, outage, left };
}

const wide = take('a', { limit: 9 });
const narrow = take('a1', { limit: 1 });

describe('in an outage', () => {
  it('a group is charged where all its steps pass, and has followed what the store charged', async () => {
    const { passes, outage, left } = setUp();
    expect(await passes([wide, narrow])).toBe(true);
    expect(await passes([wide, narrow])).toBe(false);
    outage();
    expect([await left(wide), await left(narrow)]).toEqual([8, 0]);
    expect(await passes([wide, narrow])).toBe(false);
    expect(await left(wide)).toBe(8);
  });

  it('answers in an outage as a memory store would, and has followed all before it', async () => {
    const random = seeded(11);
    for (let run = 0; run < 60; run += 1) {
      const { ask, store, outage } = setUp();
      const alone = memoryStore({ clock: store.clock });
      for (let at = 0; at < 12; at += 1) {
        if (at === 6) outage();
        const steps = ['a', 'a1', 'a2', 'a3', 'a4'].flatMap((key) => {
          const limit = pick(random, [1, 2, 4]);
          const step = take(key, { limit, cost: pick(random, [0, 1, 2]), binding: random(10) < 8 });
          return random(10) < 2 ? [] : [step];
        });
        const told = await ask(steps);
        const plain = ({ allowed, ...numbers }: Answer, step: Step) => ({
          allowed,
          ...measure(step.rule, { allowed, ...numbers }, step.cost),
        });
        const wanted = alone.apply(steps).map((one, i) => plain(one, steps[i] as Step));
        expect(told.map((one, i) => plain(one, steps[i] as Step))).toEqual(wanted);
      }
    }
  });
});

describe.each([
  ['fails', false],
  ['is known not to answer', { failures: 1, probeEvery: '1h' }],
] as const)('a part of the store that %s', (_, breaker) => {
  const inB = take('b', { limit: 9 });

  async function withoutA() {
    const all = setUp({ breaker });
    all.store.down.add('a');
    await all.ask([take('a')]);
    const stored = (step: Step) => {
      const [answer] = all.store.memory.apply([{ ...step, op: 'look' }]);
      return measure(step.rule, answer as Answer, 1).remaining;
    };
    return { ...all, stored };
  }

  it('refuses its group by its policy, and the others keep nothing', async () => {
    const { passes, stored } = await withoutA();
    expect(await passes([inB, { ...narrow, onStoreError: 'deny' }])).toBe(false);
    expect([stored(inB), stored(narrow)]).toEqual([9, 1]);
  });

  it('is answered for by the fallback counts, and the others are charged', async () => {
    const { passes, stored, left } = await withoutA();
    expect(await passes([inB, narrow])).toBe(true);
    expect([await left(narrow), stored(narrow), stored(inB)]).toEqual([0, 1, 8]);
    expect(await passes([inB, narrow])).toBe(false);
    expect(stored(inB)).toBe(8);
  });
});
