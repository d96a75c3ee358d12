/** The oracle: calculates what a store must answer, in exact fractions. It shares no code with any store. */

import type { Answer, Numbers, Step } from '@spillway/core';
import type { Rule } from '@spillway/core/store';
import { Counts, machineOf, type Subject } from './oracle/counts.js';
import { type MergedStep, mergedSteps, placesOf } from './oracle/group.js';
import { larger, smaller } from './oracle/machine.js';

export type { Subject };

/** What a store must answer to one step. */
export interface Verdict extends Numbers {
  /** As in {@link Answer}. */
  readonly allowed: boolean;
  /** Whether units were charged. */
  readonly charged: boolean;
  /** How long who was charged last is to wait, in milliseconds; NaN under a rule that lets nobody wait. */
  readonly delayMs: number;
  /** The end of the pause, in microseconds since the epoch, 0 if there is none; NaN as above. */
  readonly pausedUntilUs: number;
  /** Of a claim its state, owner, end and note in one text; `''` under another rule. */
  readonly claim: string;
  /** The state after the step, as a store's answer. */
  readonly answer: Answer;
}

/**
 * Calculates the answers to groups of steps. Steps of a group with the same operation on the same count become one step
 * with the summed cost. Takes that start together begin at the latest of their earliest starts. First all takes are
 * judged, on the state before the group. Then every step acts, in order. If the clock went back and left a state that
 * the rule does not allow, a take cuts that state even if it charges nothing, unless it could never charge anything.
 * Apart from that, only steps that charge or give back change a state.
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
   * @throws SpillwayError `SPW_GROUP_INVALID` where it must throw that.
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
   * The counts of which a store may have forgotten a part at `nowUs`: it shows if the clock then goes back to
   * `earlierUs`.
   */
  forgettable(nowUs: number, earlierUs: number): Subject[] {
    return [...this.counts].filter(({ rule, state }) =>
      machineOf(rule).forgettable(rule, state, BigInt(nowUs), BigInt(earlierUs)),
    );
  }

  /** By key: when its takes that start together start. */
  private starts(merged: readonly MergedStep[], now: bigint): ReadonlyMap<string, bigint> {
    const starts = new Map<string, bigint>();
    for (const { step, cost, together } of merged) {
      const { rule, key } = step;
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

  /** The view of a step that is to be charged. */
  private viewFrom(
    { step, together }: MergedStep,
    now: bigint,
    starts: ReadonlyMap<string, bigint>,
  ): unknown {
    const { rule, key } = step;
    const machine = machineOf(rule);
    const view = machine.view(rule, this.counts.stateOf(step), now);
    const start = starts.get(key);
    return together && start !== undefined ? (machine.from?.(rule, view, start) ?? view) : view;
  }

  private passes(merged: MergedStep, now: bigint, starts: ReadonlyMap<string, bigint>): boolean {
    const { step, cost } = merged;
    if (cost === 0n) return true;
    const { rule } = step;
    return machineOf(rule).passes(rule, this.viewFrom(merged, now, starts), now, cost, step);
  }

  private act(
    merged: MergedStep,
    now: bigint,
    groupPasses: boolean,
    starts: ReadonlyMap<string, bigint>,
  ): Verdict {
    const { step, cost } = merged;
    const { op, rule, receipt } = step;
    const machine = machineOf(rule);
    const state = this.counts.stateOf(step);
    const view = machine.view(rule, state, now);
    const passes = this.passes(merged, now, starts);
    const taken = op === 'take' && passes && groupPasses;
    const charges = cost > 0n && (op === 'record' || taken);

    let after: unknown;
    let allowed = passes;
    if (charges) {
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
      // Sent again, it changes nothing.
      if (done !== view) after = done;
    } else if (op === 'reset') {
      this.counts.keep(step, undefined);
      return verdict(rule, cost, now, machine.view(rule, undefined, now), true, false);
    } else if (mayRepair(merged) && state !== undefined && machine.impossible(rule, state, now)) {
      after = machine.repaired?.(rule, view, now) ?? view;
    }
    if (after !== undefined) this.counts.keep(step, after);
    return verdict(rule, cost, now, after ?? view, allowed, charges && after !== undefined);
  }
}

/** Whether the step is a take that could have charged something. */
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
    claim: claimIn(answer),
    answer,
  };
}

/** What an answer tells of a claim. */
export function claimIn(answer: Answer): string {
  if (!('state' in answer)) return '';
  const { state, owner, endsUs, note } = answer;
  return `${state} ${owner} ${endsUs} ${note}`;
}
