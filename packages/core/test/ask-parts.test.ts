/** How the parts of a group are called: which calls are made, and which ones no deadline may prevent. */

import { type Answer, memoryStore, type Step } from '@spillway/core';
import {
  askParts,
  makeDistinctRule,
  makeLockRule,
  makeRule,
  measure,
  partsOf,
} from '@spillway/core/store';
import { describe, expect, it } from 'vitest';

const rule = makeRule('fixed-window', 5, 60_000_000);

function take(key: string): Step {
  return { op: 'take', limiter: 'api', key, rule, cost: 1, binding: true };
}

/** Sends a group in which each key is a separate part. Returns the calls; refunds have a `!`. */
async function callsOf(steps: readonly Step[], full: readonly string[]): Promise<string[]> {
  const calls: string[] = [];
  await askParts(
    partsOf(steps, ({ key }) => key),
    (own, key, always) => {
      calls.push(`${own[0]?.op} ${key}${always ? '!' : ''}`);
      const allowed = !full.includes(key);
      return own.map(() => ({ allowed, nowUs: 1, startUs: 0, current: 1, previous: 0 }));
    },
  );
  return calls.sort();
}

it('puts back without a deadline what other parts took', async () => {
  expect(await callsOf([take('ada'), take('bob')], ['bob'])).toEqual([
    'put ada!',
    'take ada',
    'take bob',
  ]);
});

describe('distinct items in a group in parts', () => {
  const distinctRule = makeDistinctRule(2, 60_000_000);

  function items(key: string, ...items: string[]): Step {
    const hex = items.map((item) => item.repeat(32));
    return { ...take(key), limiter: 'ids', rule: distinctRule, cost: items.length, items: hex };
  }

  /** A store that answers later, with a part for each first letter of a key. */
  function setUp() {
    const store = memoryStore();
    const calls: string[] = [];
    const ask = (steps: readonly Step[]) =>
      askParts(
        partsOf(steps, ({ key }) => key.charAt(0)),
        async (own, name) => {
          calls.push(`${own.map(({ op }) => op)} ${name}`);
          await undefined;
          return store.apply(own);
        },
      );
    const used = (step: Step) => {
      const [answer] = store.apply([{ ...step, op: 'look' }]);
      return measure(step.rule, answer as Answer, step.cost).used;
    };
    return { store, calls, ask, used };
  }

  it.each([
    ['a limit in another part rejects', take('bob'), { ...take('bob'), cost: 5 }],
    ['distinct items in another part are rejected', items('bob', 'd'), items('bob', 'e', 'f')],
  ])('leaves none of groups that repeat each other, if %s', async (_, step, full) => {
    const { store, ask, used } = setUp();
    store.apply([full]);
    for (const item of ['a', 'b', 'c']) {
      const group = [items('ada', item), step];
      const answers = await Promise.all([ask(group), ask(group), ask(group)]);
      expect(answers.map((own) => own.map(({ allowed }) => allowed))).toEqual(
        answers.map(() => [true, false]),
      );
    }
    expect(used(items('ada', 'a'))).toBe(0);
  });

  it('adds them once the other parts have passed', async () => {
    const { ask, calls, used } = setUp();
    const [first, second] = await ask([items('ada', 'a'), take('bob')]);
    expect([first, second]).toMatchObject([
      { allowed: true, used: 1 },
      { allowed: true, current: 1 },
    ]);
    expect(calls).toEqual(['look a', 'take b', 'take a']);
    expect(used(items('ada', 'a'))).toBe(1);
  });

  it('refunds the others if the items are rejected, and asks no part twice', async () => {
    const { store, ask, calls, used } = setUp();
    store.apply([items('ada', 'a', 'b')]);
    const answers = await ask([items('ada', 'c'), take('bob')]);
    expect(answers).toMatchObject([{ allowed: false, used: 2 }, { allowed: true }]);
    expect(calls).toEqual(['look a', 'take b', 'put b']);
    expect([used(items('ada', 'a')), used(take('bob'))]).toEqual([2, 0]);
  });

  it('sends a group in one part as it is', async () => {
    const { ask, calls } = setUp();
    await ask([items('ada', 'a'), take('ada')]);
    expect(calls).toEqual(['take,take a']);
  });

  it('locks a key in the same part', async () => {
    const { store, ask, used } = setUp();
    const lock: Step = { ...take('ada'), rule: makeLockRule(1, 60_000_000, [90_000_000], 1) };
    store.apply([lock]);
    await ask([items('ada', 'a'), lock, take('bob')]);
    const [answer] = store.apply([lock]);
    expect(measure(lock.rule, answer as Answer, 1).retryAfterMs).toBeGreaterThan(60_000);
    expect([used(items('ada', 'a')), used(take('bob'))]).toEqual([0, 0]);
  });

  it('refunds what its part took with them, if another request takes the last place', async () => {
    const { store, ask, used } = setUp();
    store.apply([items('ada', 'a')]);
    const group = (item: string) => [items('ada', item), take('ada'), take('bob')];
    const answers = await Promise.all([ask(group('b')), ask(group('c'))]);
    expect(answers.map(([own]) => own?.allowed)).toEqual([true, false]);
    expect([used(items('ada', 'a')), used(take('ada')), used(take('bob'))]).toEqual([2, 1, 1]);
  });
});
