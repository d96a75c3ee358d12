/** A store under test, with short methods, so that the code of a check reads like its title. */

import { type Answer, isSpillwayError, type Numbers, type Step } from '@spillway/core';
import {
  delayOf,
  measure,
  type Op,
  type Receipt,
  type Rule,
  type Values,
} from '@spillway/core/store';
import type { Check, Harness, OpenStore } from './harness.js';
import { mergedSteps, placesOf } from './oracle/group.js';
import { claimIn, type Subject } from './oracle.js';

/** 2026-01-01T00:00:00Z, the time at which checks start. */
const START_US = 1_767_225_600_000_000;

export interface Seen extends Numbers {
  readonly allowed: boolean;
  readonly delayMs: number;
  readonly pausedUntilUs: number;
  readonly forgiven: number;
  readonly claim: string;
  readonly answer: Answer;
}

export const FIELDS = [
  'allowed',
  'used',
  'remaining',
  'retryAfterMs',
  'resetMs',
  'delayMs',
  'pausedUntilUs',
  'forgiven',
  'claim',
] as const;

type StepExtras = Partial<
  Pick<
    Step,
    'binding' | 'owed' | 'receipt' | 'holdUs' | 'together' | 'lease' | 'claim' | 'onStoreError'
  >
>;

export function step(op: Op, subject: Subject, cost = 1, extras: StepExtras = {}): Step {
  const { limiter, key, rule, claim, period, items } = subject;
  const named = { ...(claim && { claim }), ...(period && { period }), ...(items && { items }) };
  return { op, limiter, key, rule, cost, binding: true, ...named, ...extras };
}

export function lease(id: string | number, critical = false): StepExtras {
  return { lease: { id: `lease-${id}`, critical } };
}

export function claim(id: string, owner: number, note?: string): Required<Pick<Step, 'claim'>> {
  const kept = note === undefined ? {} : { note };
  return { claim: { id, owner: `${owner}`.padStart(16, 'o'), ...kept } };
}

export function seen(rule: Rule, answer: Answer, cost: number): Seen {
  const waits = rule.machine === 'queue' && 'pausedUntilUs' in answer;
  return {
    allowed: answer.allowed,
    answer,
    ...measure(rule, answer, cost),
    delayMs: waits ? delayOf(rule, answer) : Number.NaN,
    pausedUntilUs: waits ? answer.pausedUntilUs : Number.NaN,
    forgiven: answer.forgiven ?? 0,
    claim: claimIn(answer),
  };
}

export function receiptOf(answer: Answer, units: number): Receipt {
  if ('critical' in answer || 'state' in answer) return { atUs: 0, num: 0, units };
  if ('tatUs' in answer) return { atUs: answer.tatUs, num: answer.tatNum, units };
  if ('untilUs' in answer) return { atUs: answer.endUs, num: 0, units };
  return { atUs: 'startUs' in answer ? answer.startUs : answer.lastUs, num: 0, units };
}

export class Probe {
  private readonly open: OpenStore;
  private instantUs = START_US;
  private names = 0;

  constructor(open: OpenStore) {
    this.open = open;
  }

  get nowUs(): number {
    return this.instantUs;
  }

  async at(us: number): Promise<void> {
    this.instantUs = us;
    await this.open.setTimeUs(us);
  }

  async pass(us: number): Promise<void> {
    await this.at(this.instantUs + us);
  }

  freshName(): string {
    this.names += 1;
    return `limiter-${this.names}`;
  }

  fresh(rule: Rule, key = 'ada'): Subject {
    return { limiter: this.freshName(), key, rule };
  }

  async apply(steps: readonly Step[]): Promise<readonly Seen[]> {
    const answers = await this.open.store.apply(steps);
    expectEqual('number of answers', steps.length, answers.length);
    // If steps are merged, the store answers each of them for the summed cost.
    const merged = mergedSteps(steps);
    const places = placesOf(steps, merged);
    return steps.map(({ rule }, at) => {
      const cost = Number(merged[places[at] as number]?.cost);
      return seen(rule, answers[at] as Answer, Math.min(cost, Number.MAX_SAFE_INTEGER));
    });
  }

  get values(): Values | undefined {
    return this.open.store.values;
  }

  async errorOf(steps: readonly Step[]): Promise<string> {
    try {
      await this.open.store.apply(steps);
      return 'none';
    } catch (error) {
      return isSpillwayError(error) ? error.code : String(error);
    }
  }

  async ask(op: Op, subject: Subject, cost = 1, extras?: StepExtras): Promise<Seen> {
    const [answer] = await this.apply([step(op, subject, cost, extras)]);
    return answer as Seen;
  }
}

export function check(
  name: string,
  harness: Harness,
  proof: (probe: Probe) => Promise<void>,
): Check {
  return {
    name,
    async run() {
      const open = await harness.open();
      try {
        const probe = new Probe(open);
        await probe.at(START_US);
        await proof(probe);
      } finally {
        await open.close?.();
      }
    },
  };
}

export function expectEqual<T extends number | string | boolean>(
  what: string,
  expected: T,
  got: T,
): void {
  if (!Object.is(expected, got)) throw new Error(`${what}: expected ${expected}, got ${got}`);
}

export function expectSame(what: string, expected: Seen, got: Seen): void {
  for (const field of FIELDS) {
    expectEqual(`${what}: ${field}`, expected[field], got[field]);
  }
}
