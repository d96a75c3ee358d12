/** The oracle: calculates what a store must answer, in exact fractions. It shares no code with any store. */

import type { Answer, Numbers, Step } from '@spillway/core';
import type { Rule } from '@spillway/core/store';
import { Counts, machineOf, type Subject } from './oracle/counts.js';
import { type MergedStep, mergedSteps, placesOf } from './oracle/group.js';
import { larger, smaller } from './oracle/machine.js';

export type { Subject };

/** What a store must answer to one step. */
export interface Verdict extends Numbers {
  readonly allowed: boolean;
  readonly charged: boolean;
  /** How long the last charged unit must wait, in milliseconds; NaN unless the rule is a shaper's. */
  readonly delayMs: number;
  /** For a shaper, when the pause ends, in microseconds since the epoch, or 0 without a pause. For other rules, NaN. */
  readonly pausedUntilUs: number;
  /** Units that were not charged, because they go beyond the limit plus the debt that the rule allows. Rounded up. */
  readonly forgiven: number;
  /** A claim's state, owner, end and note as one string; `''` unless the rule is for claims. */
  readonly claim: string;
  /** The state after the step, in the form of a store's answer. */
  readonly answer: Answer;
}

/**
 * Calculates the answers to groups of steps:
 *
 * 1. Steps of a group with the same operation on the same count become one step with the summed cost.
 * 2. Takes that must start together start as soon as all of them can.
 * 3. Each take is decided on the state before the group.
 * 4. Every step acts, in order.
 *
 * A rejected take changes no state, with two exceptions:
 *
 * - If its limit has a penalty, it may start a lock.
 * - After the clock went back, the state may exceed what the rule allows. A take with a cost above 0 cuts the excess.
 *
 * @example
 * ```ts run
 * import { Oracle } from '@spillway/conformance';
 * import { makeRule } from '@spillway/core/store';
 *
 * const oracle = new Oracle();
 * const rule = makeRule('token-bucket', 3, 10_000_000);
 * const step = { op: 'take', limiter: 'api', key: 'ada', rule, cost: 3, binding: true } as const;
 * oracle.apply([step], 0)[0]?.allowed; // true
 * oracle.apply([{ ...step, cost: 1 }], 0)[0]?.retryAfterMs; // 3333.334
 * ```
 */
export class Oracle {
  private readonly counts = new Counts();

  /**
   * What a store whose clock shows `nowUs` must answer to `steps`.
   *
   * @throws SpillwayError `SPW_GROUP_INVALID` if the store must throw it
   */
  apply(steps: readonly Step[], nowUs: number): Verdict[] {
    const now = BigInt(nowUs);
    const merged = mergedSteps(steps);
    const starts = this.starts(merged, now);
    const refuses = (one: MergedStep): boolean =>
      one.step.op === 'take' && one.binding && !this.passes(one, now, starts);
    const passes = !merged.some(refuses);
    const verdicts = merged.map((one) => this.act(one, now, passes, starts));
    return placesOf(steps, merged).map((place) => verdicts[place] as Verdict);
  }

  /**
   * The counts with a part that has expired at `nowUs`, but would count again if the clock went back to `earlierUs`. A
   * store may have deleted such a part.
   */
  forgettable(nowUs: number, earlierUs: number): Subject[] {
    return [...this.counts].filter(({ rule, state }) =>
      machineOf(rule).forgettable(rule, state, BigInt(nowUs), BigInt(earlierUs)),
    );
  }

  /** By key, the instant at which all takes that must start together can start. */
  private starts(merged: readonly MergedStep[], now: bigint): ReadonlyMap<string, bigint> {
    const starts = new Map<string, bigint>();
    for (const { step, cost, together } of merged) {
      const { key } = step;
      const rule = ruleOf(step);
      const isAlone = !merged.some(
        (one) => one.together && one.step.key === key && one.step !== step,
      );
      if (!together || isAlone) continue;
      const machine = machineOf(rule);
      const view = machine.view(rule, this.counts.stateOf(step), now);
      const start = machine.start?.(rule, view, now, cost) ?? now;
      starts.set(key, larger(start, starts.get(key) ?? now));
    }
    return starts;
  }

  /**
   * The view on which a step is decided. If the step must start together with others, it is decided as of their common
   * start.
   */
  private viewFrom(
    { step, together }: MergedStep,
    now: bigint,
    starts: ReadonlyMap<string, bigint>,
  ): unknown {
    const { key } = step;
    const rule = ruleOf(step);
    const machine = machineOf(rule);
    const view = machine.view(rule, this.counts.stateOf(step), now);
    const start = starts.get(key);
    return together && start !== undefined ? (machine.from?.(rule, view, start) ?? view) : view;
  }

  private passes(merged: MergedStep, now: bigint, starts: ReadonlyMap<string, bigint>): boolean {
    const { step, cost } = merged;
    if (cost === 0n) return true;
    const rule = ruleOf(step);
    return machineOf(rule).passes(rule, this.viewFrom(merged, now, starts), now, cost, step);
  }

  private act(
    merged: MergedStep,
    now: bigint,
    groupPasses: boolean,
    starts: ReadonlyMap<string, bigint>,
  ): Verdict {
    const { step, cost } = merged;
    const { op, receipt } = step;
    const rule = ruleOf(step);
    const machine = machineOf(rule);
    const state = this.counts.stateOf(step);
    const view = machine.view(rule, state, now);
    const passes = this.passes(merged, now, starts);
    const taken = op === 'take' && passes && groupPasses;
    const charges = cost > 0n && (op === 'record' || taken);

    let after: unknown;
    let allowed = passes;
    let forgiven = 0n;
    if (charges && rule.debt !== undefined) {
      const units = smaller(smaller(cost, MAX_STEP_UNITS) + merged.owed, MAX_STEP_UNITS);
      after = machine.record(rule, view, now, units, step);
      forgiven = machine.forgiven?.(rule, view, after, now, units) ?? 0n;
    } else if (charges) {
      after =
        op === 'take'
          ? machine.charge(rule, this.viewFrom(merged, now, starts), now, cost, step)
          : machine.record(rule, view, now, cost, step);
    } else if (op === 'put') {
      const given = smaller(cost, BigInt(receipt?.units ?? step.cost));
      const named = given > 0n && (receipt ?? step.lease ?? step.claim);
      after = named ? machine.put(rule, view, now, given, receipt, step) : undefined;
      allowed = after !== undefined;
    } else if (op === 'hold') {
      allowed = true;
      if (step.holdUs) after = machine.hold?.(rule, view, now, BigInt(step.holdUs));
    } else if (op === 'done') {
      const done = machine.done?.(rule, view, now, step);
      allowed = done !== undefined;
      if (done !== view) after = done;
    } else if (op === 'reset') {
      this.counts.storeState(step, undefined);
      return verdict(rule, cost, now, machine.view(rule, undefined, now), true, false);
    } else if (merged.binding && !passes && mayRepair(merged)) {
      after = machine.reject?.(rule, view, now, cost);
    }
    const charged = charges && after !== undefined;
    const isStale = after === undefined && state !== undefined && mayRepair(merged);
    if (isStale && machine.impossible(rule, state, now)) {
      after = machine.repaired?.(rule, view, now) ?? view;
    }
    if (after !== undefined) this.counts.storeState(step, after);
    const told = verdict(rule, cost, now, after ?? view, allowed, charged);
    if (forgiven === 0n) return told;
    const units = Number(forgiven);
    return { ...told, forgiven: units, answer: { ...told.answer, forgiven: units } };
  }
}

const MAX_STEP_UNITS = BigInt(Number.MAX_SAFE_INTEGER);

function ruleOf({ rule, period, items }: Step): Rule {
  return period || items ? (Object.assign({}, rule, { period, items }) as Rule) : rule;
}

/** Whether the step may repair a state that its rule does not allow. Only a take that could charge may do so. */
function mayRepair({ step: { op, rule, lease }, cost }: MergedStep): boolean {
  return op === 'take' && cost > 0n && (rule.machine !== 'leases' || lease !== undefined);
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
  const numbers = machine.numbers(rule, view, now, cost, allowed);
  const { used, remaining, retryUs, resetUs, delayUs } = numbers;
  const answer = { allowed, ...machine.answer(rule, view, Number(now), retryUs) } as Answer;
  return {
    allowed,
    charged,
    used: Number(used),
    remaining: Number(remaining),
    retryAfterMs:
      retryUs === null ? Number.POSITIVE_INFINITY : Number(retryUs ?? Number.NaN) / 1000,
    resetMs: Number(resetUs ?? Number.NaN) / 1000,
    delayMs: Number(delayUs ?? Number.NaN) / 1000,
    pausedUntilUs: 'pausedUntilUs' in answer ? answer.pausedUntilUs : Number.NaN,
    forgiven: 0,
    claim: claimIn(answer),
    answer,
  };
}

export function claimIn(answer: Answer): string {
  if (!('state' in answer)) return '';
  const { state, owner, endsUs, note } = answer;
  return `${state} ${owner} ${endsUs} ${note}`;
}
