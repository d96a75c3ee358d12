/**
 * A store answers the steps of shapers as the oracle does: with waits, costs, aborts, cancelled reservations, pauses,
 * live changes of the pace, and a clock of the store that is set back. The steps are not generated: two processes with
 * jobs send them.
 */

import { isDeepStrictEqual as equals } from 'node:util';
import { type Answer, memoryControl, memoryStore, type Step, type Store } from '@spillway/core';
import {
  delayOf,
  measure,
  type QueueAnswer,
  type QueueRule,
  remoteStore,
  systemClock,
} from '@spillway/core/store';
import { createShaper, type Shaper } from '@spillway/outgoing';
import { fakeTime, type Random, seeded } from 'spillway-testkit';
import { expect, it, vi } from 'vitest';
import { Oracle, type Verdict } from '../../packages/conformance/src/oracle.js';
import { FIELDS } from '../../packages/conformance/src/probe.js';

fakeTime();

const BURST = 3;
const KEYS = ['acme', 'umbrella'];
const NAME = 'calls';

/** What the traces have reached. */
const told = {
  waits: 0,
  refusals: 0,
  costs: 0,
  givenBack: 0,
  kept: 0,
  pauses: 0,
  changes: 0,
  setBack: 0,
};

/** A store in memory whose every answer is compared with the oracle's. All processes share it. */
class Judged implements Store {
  readonly sync = false;
  private aheadUs = 0;
  private readonly clock = { nowUs: () => systemClock.nowUs() + this.aheadUs };
  private readonly memory = memoryStore({ clock: this.clock });
  private readonly oracle = new Oracle();
  private readonly delayMs: number;
  /** Collected until the end, because a shaper would treat an error as a failure of the store. */
  readonly differences: object[] = [];
  private limit = 0;
  private windowUs = 1;

  constructor(delayMs: number) {
    this.delayMs = delayMs;
  }

  async apply(steps: readonly Step[]): Promise<readonly Answer[]> {
    await sleep(this.delayMs);
    const answers = this.judge(steps);
    await sleep(this.delayMs);
    return answers;
  }

  /** Sets the clock back. Resets the counts that stores may have dropped by then, because only those may differ. */
  setBack(ms: number): void {
    const nowUs = this.clock.nowUs();
    const stale = this.oracle.forgettable(nowUs, nowUs - ms * 1_000);
    const resets = stale.map((count): Step => ({ ...count, op: 'reset', cost: 1, binding: true }));
    if (resets.length > 0) this.judge(resets);
    this.aheadUs -= ms * 1_000;
    told.setBack += 1;
  }

  private judge(steps: readonly Step[]): readonly Answer[] {
    const answers = this.memory.apply(steps);
    const verdicts = this.oracle.apply(steps, this.clock.nowUs());
    for (const [at, step] of steps.entries()) {
      const answer = answers[at] as QueueAnswer;
      const verdict = verdicts[at] as Verdict;
      const expected = { ...picked(verdict), ...stateOf(verdict.answer as QueueAnswer) };
      const found = { ...picked(numbersOf(step, answer)), ...stateOf(answer) };
      if (!equals(found, expected)) this.differences.push({ step, found, expected });
      this.note(step, answer);
    }
    return answers;
  }

  private note({ op, rule, cost }: Step, answer: QueueAnswer): void {
    if (op === 'hold') told.pauses += 1;
    if (op === 'put' && answer.allowed) told.givenBack += 1;
    if (op === 'put' && !answer.allowed) told.kept += 1;
    if (op !== 'take') return;
    const { limit, windowUs } = rule as QueueRule;
    if (limit * this.windowUs !== this.limit * windowUs) told.changes += 1;
    this.limit = limit;
    this.windowUs = windowUs;
    if (cost > 1) told.costs += 1;
    if (!answer.allowed) told.refusals += 1;
    else if (delayOf(rule as QueueRule, answer) > 0) told.waits += 1;
  }
}

type Numbers = Pick<Verdict, (typeof FIELDS)[number]>;

/** The numbers of an answer, in the form of the oracle. */
function numbersOf({ rule, cost }: Step, answer: QueueAnswer): Numbers {
  const { allowed, pausedUntilUs } = answer;
  const delayMs = delayOf(rule as QueueRule, answer);
  return {
    allowed,
    ...measure(rule, answer, cost),
    delayMs,
    pausedUntilUs,
    forgiven: 0,
    claim: '',
  };
}

const picked = (numbers: Numbers): object =>
  Object.fromEntries(FIELDS.map((field) => [field, numbers[field]]));
const stateOf = ({ tatUs, tatNum, nowUs }: QueueAnswer): object => ({ tatUs, tatNum, nowUs });
const sleep = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));

async function run(random: Random): Promise<void> {
  const any = (count: number): number => Math.floor(random.uniform() * count);
  const store = remoteStore(new Judged(any(3)));
  const control = memoryControl();
  const processes = [0, 1].map(() =>
    createShaper(
      { name: NAME, limit: 20, window: '1s', burst: BURST, maxWait: '2s' },
      { store, control, onStoreError: 'deny', logger: false },
    ),
  );
  let open = 0;
  const settled = (): void => {
    open -= 1;
  };
  const schedule = (shaper: Shaper): void => {
    const abort = new AbortController();
    const options = { cost: 1 + any(BURST), priority: any(3), signal: abort.signal };
    open += 1;
    shaper.schedule(KEYS[any(2)] as string, () => undefined, options).then(settled, settled);
    if (any(3) === 0) setTimeout(() => abort.abort(), any(1_000));
  };
  const reserve = async (shaper: Shaper): Promise<void> => {
    const cost = 1 + any(BURST);
    const first = await shaper.reserveFirst(KEYS, { cost });
    if (first.allowed && any(2) === 0) setTimeout(first.cancel, any(200));
  };
  const change = (): void => {
    const limits = { limit: 3 + any(40), window: 700 + any(600) };
    control.set(NAME, { limits }, { by: 'ada', because: 'a trace', for: '1h' });
  };
  for (let i = 0; i < 150; i += 1) {
    const shaper = processes[any(2)] as Shaper;
    const what = any(40);
    if (what === 0) void shaper.pause(KEYS[any(2)] as string, 50 + any(900));
    else if (what < 3) change();
    else if (what === 3) store.setBack(any(3_000));
    else if (what < 10) void reserve(shaper);
    else schedule(shaper);
    await vi.advanceTimersByTimeAsync(any(120));
  }
  await vi.advanceTimersByTimeAsync(60_000);
  expect(open).toBe(0);
  expect(store.differences.at(0)).toBeUndefined();
  await Promise.all(processes.map((shaper) => shaper.close()));
}

it.each(Array.from({ length: 40 }, (_, seed) => seed))('seed %i', (seed) => run(seeded(seed)));

it('the traces reach what they are for', () => {
  for (const count of Object.values(told)) expect(count).toBeGreaterThan(10);
  expect(told.waits).toBeGreaterThan(500);
});
