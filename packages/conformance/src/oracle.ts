/** The oracle: what a store must answer, in exact rational arithmetic and without a line shared with any store. */

import type { Answer, Numbers, Rule, Step } from '@spillway/core';
import { bucketMachine } from './oracle/bucket.js';
import { leasesMachine } from './oracle/leases.js';
import { logMachine } from './oracle/log.js';
import type { Machine } from './oracle/machine.js';
import { windowMachine } from './oracle/window.js';

/** What a store must say of one step. */
export interface Verdict extends Numbers {
  /** As {@link Answer}'s. */
  readonly allowed: boolean;
  /** Whether units were charged. */
  readonly charged: boolean;
  /** The state after the step in the terms of a store's answer. */
  readonly answer: Answer;
}

/** A count: which limiter, which key, and the rule that last saw it. */
export type Subject = Pick<Step, 'limiter' | 'key' | 'rule'>;

interface Entry {
  readonly rule: Rule;
  readonly state: unknown;
}

const machines = {
  gcra: bucketMachine,
  window: windowMachine,
  log: logMachine,
  leases: leasesMachine,
};

function machineOf(rule: Rule): Machine<Rule, unknown> {
  return machines[rule.machine] as unknown as Machine<Rule, unknown>;
}

/**
 * Replays steps exactly. Steps of a group that ask the same of the same count are one step of their summed cost. Takes
 * are judged first, on the state before the group; then every step acts, in order.
 *
 * @example
 * ```ts run
 * import { Oracle } from '@spillway/conformance';
 * import { makeRule } from '@spillway/core';
 *
 * const oracle = new Oracle();
 * const rule = makeRule('token-bucket', 3, 10_000_000);
 * const step = { op: 'take', limiter: 'api', key: 'ada', rule, cost: 3, binding: true } as const;
 * oracle.apply([step], 0)[0]?.allowed; // true
 * oracle.apply([{ ...step, cost: 1 }], 0)[0]?.retryAfterMs; // 3333.334
 * ```
 */
export class Oracle {
  readonly #limiters = new Map<string, Map<string, Entry>>();

  /** What a store whose clock shows `nowUs` must answer to `steps`. */
  apply(steps: readonly Step[], nowUs: number): Verdict[] {
    const now = BigInt(nowUs);
    const questions = questionsOf(steps);
    const judged = questions.map((question) => ({
      ...question,
      passes: this.#passes(question, now),
    }));
    const refused = judged.some(
      ({ step: { op }, binding, passes }) => op === 'take' && binding && !passes,
    );
    const verdicts = judged.map((question) => this.#act(question, now, question.passes, refused));
    return steps.map(
      (step) => verdicts[questions.findIndex((q) => isSame(q.step, step))] as Verdict,
    );
  }

  /** Whether the count holds a state that its rule cannot have at `nowUs` and that no step has cut yet. */
  isImpossible({ limiter, key, rule }: Subject, nowUs: number): boolean {
    const entry = this.#entry(limiter, key, rule);
    return entry !== undefined && machineOf(rule).impossible(rule, entry.state, BigInt(nowUs));
  }

  /** The counts that a store may have forgotten in part at `nowUs`, as the clock running back to `earlierUs` would show. */
  forgettable(nowUs: number, earlierUs: number): Subject[] {
    const found: Subject[] = [];
    for (const [limiter, keys] of this.#limiters) {
      for (const [key, { rule, state }] of keys) {
        const machine = machineOf(rule);
        if (machine.forgettable(rule, state, BigInt(nowUs), BigInt(earlierUs))) {
          found.push({ limiter, key, rule });
        }
      }
    }
    return found;
  }

  #passes({ step, cost }: Question, now: bigint): boolean {
    if (cost === 0n) return true;
    const { limiter, key, rule, lease } = step;
    const machine = machineOf(rule);
    const state = this.#entry(limiter, key, rule)?.state;
    return machine.passes(rule, machine.view(rule, state, now), now, cost, lease);
  }

  #act({ step, cost }: Question, now: bigint, passes: boolean, refused: boolean): Verdict {
    const { op, limiter, key, rule, receipt, lease } = step;
    const machine = machineOf(rule);
    const view = machine.view(rule, this.#entry(limiter, key, rule)?.state, now);
    const charges = cost > 0n && (op === 'record' || (op === 'take' && passes && !refused));

    let after: unknown;
    let allowed = passes;
    if (charges) {
      after =
        op === 'take'
          ? machine.charge(rule, view, now, cost, lease)
          : machine.record(rule, view, now, cost, lease);
    } else if (op === 'put') {
      const named = cost > 0n && (receipt ?? lease);
      after = named ? machine.put(rule, view, now, cost, receipt, lease) : undefined;
      allowed = after !== undefined;
    } else if (op === 'reset') {
      this.#limiters.get(limiter)?.delete(key);
      return verdict(rule, cost, now, machine.view(rule, undefined, now), true, false);
    } else if (op === 'take' && !passes && this.isImpossible(step, Number(now))) {
      after = machine.repaired?.(rule, view, now) ?? view; // the one thing that a refusal writes
    }
    if (after !== undefined) this.#write(step, after);
    return verdict(rule, cost, now, after ?? view, allowed, charges && after !== undefined);
  }

  #entry(limiter: string, key: string, rule: Rule): Entry | undefined {
    const entry = this.#limiters.get(limiter)?.get(key);
    return entry?.rule.machine === rule.machine ? entry : undefined;
  }

  #write({ limiter, key, rule }: Step, state: unknown): void {
    const keys = this.#limiters.get(limiter) ?? new Map<string, Entry>();
    this.#limiters.set(limiter, keys.set(key, { rule, state }));
  }
}

/** A step and those that ask the same of the same count in the same group: one question for their summed cost. */
interface Question {
  readonly step: Step;
  readonly cost: bigint;
  readonly binding: boolean;
}

function isSame(a: Step, b: Step): boolean {
  return a.op === b.op && a.limiter === b.limiter && a.key === b.key;
}

/** The questions of a group, each where it is first asked. */
function questionsOf(steps: readonly Step[]): Question[] {
  const firsts = steps.filter((step, at) => steps.findIndex((other) => isSame(other, step)) === at);
  return firsts.map((step) => {
    const same = steps.filter((other) => isSame(other, step));
    const cost = same.reduce((sum, other) => sum + BigInt(other.cost), 0n);
    return { step, cost, binding: same.some((other) => other.binding) };
  });
}

function verdict(
  rule: Rule,
  cost: bigint,
  now: bigint,
  view: unknown,
  allowed: boolean,
  charged: boolean,
): Verdict {
  const machine = machineOf(rule);
  const { remaining, retryUs, resetUs } = machine.numbers(rule, view, now, cost, allowed);
  return {
    allowed,
    charged,
    remaining: Number(remaining),
    retryAfterMs:
      retryUs === null ? Number.POSITIVE_INFINITY : Number(retryUs ?? Number.NaN) / 1000,
    resetMs: Number(resetUs ?? Number.NaN) / 1000,
    answer: { allowed, ...machine.answer(rule, view, Number(now), retryUs) } as Answer,
  };
}
