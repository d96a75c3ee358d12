import type { Step } from '@spillway/core';
import { type Receipt, type Rule, unitsOf } from '@spillway/core/store';
import { destination } from './moves.js';
import { mergedSteps } from './oracle/group.js';
import { Oracle, type Subject, type Verdict } from './oracle.js';
import { claim, FIELDS, lease, type Probe, receiptOf, type Seen, step } from './probe.js';
import { describe } from './rules.js';
import { costOf, givenOf, heldOf, type StepPick, type Trace } from './trace.js';

interface Grant {
  readonly subject: Subject;
  readonly cost: number;
  readonly storeReceipt: Receipt;
  readonly oracleReceipt: Receipt;
}

interface Planned {
  readonly step: Step;
  readonly grant?: Grant;
}

/**
 * Runs `trace` on counts that no other trace uses.
 *
 * @throws Error that shows the rules, the steps so far, and the field that differs
 */
export async function replay(probe: Probe, trace: Trace): Promise<void> {
  await new Replay(probe, trace).replayTrace();
}

const DAY_US = 86_400_000_000;
const SECOND = 1 / 86_400;

/** Billing periods, in days since the whole second in which the trace starts. */
const PERIODS: readonly (readonly [from: number, to: number])[] = [
  [0, 30],
  [SECOND, 30 + SECOND],
  [15, 46],
  [30, 61],
  [-10, 2],
  [-SECOND, 30],
];

class Replay {
  private readonly probe: Probe;
  private readonly trace: Trace;
  private readonly subjects: readonly Subject[];
  private readonly oracle = new Oracle();
  private readonly grants: Grant[] = [];
  private readonly lines: string[] = [];
  private readonly startUs: number;
  private waitUs = 0;
  private resetUs = 0;
  private steps = 0;

  constructor(probe: Probe, trace: Trace) {
    this.probe = probe;
    this.trace = trace;
    this.startUs = trace.startUs - (trace.startUs % 1_000_000);
    const limiter = probe.freshName();
    const meets = (rule: Rule): Subject => ({ limiter, key: 'ada', rule });
    this.subjects = trace.rules.map((rule) => (trace.meet ? meets(rule) : probe.fresh(rule)));
  }

  async replayTrace(): Promise<void> {
    const { rules, startUs, groups } = this.trace;
    await this.moveTo(startUs);
    for (const { move, steps } of groups) {
      await this.moveTo(destination(move, rules, this.probe.nowUs, this.waitUs, this.resetUs));
      await this.play(this.plan(steps));
    }
  }

  /**
   * Moves the clock. A store may keep or delete expired units, and kept ones would count again if the clock moved back.
   * So counts with expired units are reset before such a move.
   */
  private async moveTo(us: number): Promise<void> {
    const { nowUs } = this.probe;
    if (us < nowUs) {
      const stale = this.oracle.forgettable(nowUs, us);
      if (stale.length > 0) await this.play(stale.map((s) => ({ step: step('reset', s) })));
    }
    await this.probe.at(us);
  }

  private plan(picks: readonly StepPick[]): Planned[] {
    const plans: Planned[] = [];
    for (const pick of picks) {
      const planned = pick.op === 'put' ? this.planPut(pick) : this.planStep(pick);
      const others = plans.map(({ step }) => step);
      if (hasMeaning([...others, planned.step])) plans.push(planned);
    }
    return plans;
  }

  private planStep(picked: StepPick): Planned {
    const { key, cost: pick, binding } = picked;
    const subject = {
      ...this.subject(picked),
      ...this.periodOf(picked),
      key: `key-${this.trace.meet ? key % 2 : key}`,
    };
    const isLease = subject.rule.machine === 'leases';
    const { machine } = subject.rule;
    if (picked.op === 'hold' && (machine === 'queue' || machine === 'lock')) {
      return { step: step('hold', subject, 0, { holdUs: heldOf(picked.hold, subject.rule) }) };
    }
    const op =
      picked.op === 'hold' || (picked.op === 'put' && !isNamed(subject.rule)) ? 'take' : picked.op;
    if (subject.rule.machine === 'claims') {
      const extras = { binding, ...claimOf(picked) };
      const done = picked.done && op !== 'reset';
      return done
        ? { step: step('done', subject, 1, claimOf(picked)) }
        : { step: step(op, subject, 1, extras) };
    }
    if (isLease) {
      const extras = { binding, ...lease(picked.lease, picked.critical) };
      return { step: step(op, subject, pick === 'zero' ? 0 : 1, extras) };
    }
    const look = this.oracle.apply([step('look', subject)], this.probe.nowUs)[0] as Verdict;
    const cost = costOf(pick, subject.rule, look.remaining);
    if (subject.rule.machine === 'distinct') {
      const items = itemsOf(picked, Math.min(cost, 130), subject.rule.limit);
      return { step: step(op, { ...subject, items }, items.length, { binding }) };
    }
    const isTogether = picked.together && op === 'take' && subject.rule.machine === 'queue';
    const owed = picked.owed && subject.rule.debt !== undefined ? { owed: picked.owed } : {};
    const extras = isTogether ? { binding, together: true } : { binding, ...owed };
    return { step: step(op, subject, cost, extras) };
  }

  private subject({ rule }: Pick<StepPick, 'rule'>): Subject {
    return this.subjects[rule % this.subjects.length] as Subject;
  }

  /** Picks a billing period for a step, or none. Some of the periods overlap, others begin or end a second apart. */
  private periodOf({ rule, grant, given }: StepPick): Pick<Subject, 'period'> {
    const own = this.subject({ rule }).rule;
    if (own.machine !== 'calendar' || own.calendar.name !== 'billing') return {};
    const days = PERIODS[given === 'one' ? grant + 4 : grant];
    if (!days) return {};
    const [from, to] = days.map((day) => this.startUs + Math.round(day * DAY_US));
    return { period: { label: `period ${grant}`, startUs: from as number, endUs: to as number } };
  }

  private planPut(pick: StepPick): Planned {
    if (isNamed(this.subject(pick).rule)) return this.planStep(pick);
    const grant = this.grants.at(-1 - pick.grant);
    if (!grant) return this.planStep(pick);
    return { step: step('put', grant.subject, givenOf(pick.given, grant.cost)), grant };
  }

  private async play(plans: readonly Planned[]): Promise<void> {
    const { nowUs } = this.probe;
    const forStore = plans.map(({ step, grant }) => withReceipt(step, grant?.storeReceipt));
    const forOracle = plans.map(({ step, grant }) => withReceipt(step, grant?.oracleReceipt));
    const got = await this.probe.apply(forStore);
    const expected = this.oracle.apply(forOracle, nowUs);
    for (const [at, { step }] of plans.entries()) {
      this.compare(step, expected[at] as Verdict, got[at] as Seen, at === 0);
    }
  }

  private compare(step: Step, expected: Verdict, got: Seen, first: boolean): void {
    const { nowUs } = this.probe;
    this.steps += 1;
    const sign = first ? `at ${nowUs}` : ' '.repeat(19);
    const shadow = step.binding ? '' : ', shadow';
    const held = step.holdUs ? ` for ${step.holdUs} us` : '';
    const together = step.together ? ', together' : '';
    const owed = step.owed ? ` and ${step.owed} owed` : '';
    const named = nameIn(step);
    this.lines.push(
      `  ${this.steps}. ${sign}  ${step.op} ${step.cost}${owed} of ${step.limiter}/${step.key}${named}${held}${together}${shadow}`,
    );
    if (got.answer.nowUs !== nowUs) this.failReplay('nowUs', nowUs, got.answer.nowUs);
    for (const field of FIELDS) {
      if (!Object.is(expected[field], got[field]))
        this.failReplay(field, expected[field], got[field]);
    }
    if (expected.charged && !isNamed(step.rule)) {
      const units = unitsOf(step) - expected.forgiven;
      this.grants.push({
        subject: step,
        cost: units,
        storeReceipt: receiptOf(got.answer, units),
        oracleReceipt: receiptOf(expected.answer, units),
      });
    }
    if (expected.retryAfterMs > 0 && expected.retryAfterMs < Number.POSITIVE_INFINITY) {
      this.waitUs = Math.round(expected.retryAfterMs * 1000);
    }
    this.resetUs = Math.round(expected.resetMs * 1000);
  }

  private failReplay(field: string, expected: unknown, got: unknown): never {
    const rules = this.subjects.map(
      ({ limiter, rule }) => `  ${limiter}: ${describe(rule as Rule)}`,
    );
    throw new Error(
      [
        `step ${this.steps}, ${field}: expected ${expected}, got ${got}`,
        'rules:',
        ...rules,
        'steps:',
        ...this.lines,
      ].join('\n'),
    );
  }
}

/** Whether each step of the rule names its permit or claim. If so, a `put` needs no receipt. */
function isNamed({ machine }: Rule): boolean {
  return machine === 'leases' || machine === 'claims';
}

/**
 * Items from a pool of at most 130. It is mostly slightly larger than the limit, so most steps repeat items. Only their
 * last digits differ, so a store that searches its items as one string must match at item boundaries.
 */
function itemsOf({ lease, grant }: StepPick, count: number, limit: number): string[] {
  const pool = Math.max(count, Math.min(limit, 120) + 3);
  const first = lease * (grant + 1);
  return Array.from({ length: count }, (_, i) =>
    ((first + i) % pool).toString(16).padStart(32, '0'),
  );
}

function claimOf({ lease, grant, given }: StepPick): ReturnType<typeof claim> {
  return claim(`id-${lease % 3}`, grant, given === 'whole' ? undefined : `{"kept":"${given}"}`);
}

function nameIn({ lease, claim, items }: Step): string {
  if (items) return `, ${items.map((item) => Number.parseInt(item, 16)).join(' ')}`;
  if (claim) return `, ${claim.id} for ${claim.owner}, note ${claim.note}`;
  return lease ? `, ${lease.id}${lease.critical ? ', critical' : ''}` : '';
}

function hasMeaning(steps: readonly Step[]): boolean {
  try {
    mergedSteps(steps);
    return true;
  } catch {
    return false;
  }
}

function withReceipt(step: Step, receipt: Receipt | undefined): Step {
  return receipt ? { ...step, receipt } : step;
}
