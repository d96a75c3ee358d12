/** Checks of groups with branches: which are valid, what is merged, big ones, generated ones, promised waits. */

import type { Step } from '@spillway/core';
import { capacityOf, type RateRule } from '@spillway/core/store';
import fc from 'fast-check';
import type { Check, Harness, Settings } from '../harness.js';
import type { Subject } from '../oracle.js';
import { check, expectEqual, type Probe, type Seen, step } from '../probe.js';
import { forAll } from '../property.js';
import { replay } from '../replay.js';
import { ALGORITHMS, describe, rateRule, severalRules, smallRulesOf } from '../rules.js';
import { traces } from '../trace.js';
import { expectLeft, putOf, RULES_OF_THREE, take, three } from './branch-steps.js';

const PER_BRANCH = 100;
const MINUTE_US = 60_000_000;

export function branchGroupChecks(harness: Harness, settings: Settings): Check[] {
  const branched = traces(severalRules, { width: 7, branched: fc.constant(true) });
  return [
    check('rejects a group whose branches are not valid', harness, rejectsInvalid),
    check('counts the same key twice in a branch together', harness, mergesWithin),
    check(`decides three branches of ${PER_BRANCH} steps as one group`, harness, decidesBig),
    check('admits a group with branches after exactly the promised wait', harness, (probe) =>
      forAll(alternatives, settings, (input) => keepsItsPromise(probe, input)),
    ),
    check('replays groups with branches exactly as the oracle', harness, (probe) =>
      forAll(branched, settings, (trace) => replay(probe, trace)),
    ),
  ];
}

async function rejectsInvalid(probe: Probe): Promise<void> {
  for (const rule of RULES_OF_THREE) {
    const [subject, other, granted] = three(probe, rule);
    const [grant] = await probe.apply([take(granted)]);
    const inBranch = (branch: number): Step => ({ ...take(subject), branch });
    const groups: readonly Step[][] = [
      [inBranch(1), take(subject, 2)],
      [inBranch(1), take(subject)],
      [take(subject), inBranch(1)],
      [{ ...inBranch(1), op: 'record' }],
      [{ ...inBranch(1), op: 'look' }],
      [{ ...inBranch(1), op: 'reset' }],
      [{ ...putOf(take(granted), grant), branch: 1 }],
      ...[0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY].map((branch) => [inBranch(branch)]),
    ];
    // Also in a large group, where stores may find such steps in another way.
    const looks = Array.from({ length: 20 }, () => step('look', probe.fresh(rule)));
    for (const group of groups) {
      const told = group.map(({ op, branch }) => `${op} in branch ${branch ?? 'none'}`);
      const what = `${describe(rule)}, one count: ${told.join(', ')}: error`;
      for (const beside of [[take(other)], [...looks, take(other)]]) {
        const code = await probe.errorOf([...beside, ...group]);
        expectEqual(what, 'SPW_GROUP_INVALID', code);
      }
    }
    const told = `${describe(rule)}, after groups that are not valid`;
    await expectLeft(probe, `${told}: their count`, 3, subject);
    await expectLeft(probe, `${told}: the count beside`, 3, other);
    await expectLeft(probe, `${told}: the grant`, 2, granted);
  }
}

async function mergesWithin(probe: Probe): Promise<void> {
  for (const algorithm of ALGORITHMS) {
    const rule = rateRule(algorithm, 5, MINUTE_US);
    const [first, second, common] = three(probe, rule);
    const answers = await probe.apply([
      step('take', first, 3, { branch: 1 }),
      step('take', second, 3, { branch: 2 }),
      step('take', common, 2),
      step('take', first, 3, { branch: 1 }),
      step('take', second, 2, { branch: 2 }),
      step('take', common, 2),
    ]);
    const told = `${algorithm}, 3 + 3 of 5 in branch 1, 3 + 2 of 5 in branch 2`;
    const passed = answers.map(({ allowed }) => (allowed ? 'yes' : 'no')).join();
    expectEqual(`${told}: passed`, 'no,yes,yes,no,yes,yes', passed);
    await expectLeft(probe, `${told}: branch 1`, 5, first);
    await expectLeft(probe, `${told}: branch 2`, 0, second);
    await expectLeft(probe, `${told}: common`, 1, common);
  }
}

/** Each branch has a count for each of its steps. The last step of branch 1 refuses. */
async function decidesBig(probe: Probe): Promise<void> {
  const rules = ALGORITHMS.map((algorithm) => rateRule(algorithm, 2, MINUTE_US));
  const subjects = Array.from({ length: 3 * PER_BRANCH }, (_, at) =>
    probe.fresh(rules[at % rules.length] as RateRule, `key-${at}`),
  );
  const branchOf = (at: number): number => 1 + Math.floor(at / PER_BRANCH);
  const lastOfFirst = subjects[PER_BRANCH - 1] as Subject;
  await probe.ask('take', lastOfFirst, 2);
  const takes = subjects.map((subject, at) => step('take', subject, 1, { branch: branchOf(at) }));
  const answers = await probe.apply(takes);
  const passed = answers.filter(({ allowed }) => allowed).length;
  expectEqual('steps that pass', 3 * PER_BRANCH - 1, passed);
  const looks = await probe.apply(subjects.map((subject) => step('look', subject)));
  for (const branch of [1, 2, 3]) {
    const charged = looks.filter((look, at) => branchOf(at) === branch && look.remaining === 1);
    expectEqual(`units charged in branch ${branch}`, branch === 2 ? PER_BRANCH : 0, charged.length);
  }
}

interface Alternative {
  readonly rule: RateRule;
  /** How much of the capacity was used before, and how much of it is asked for: hundredths. */
  readonly used: number;
  readonly asked: number;
  /** 0 for a common step. */
  readonly branch: number;
}

const alternatives: fc.Arbitrary<readonly Alternative[]> = fc.array(
  fc.record({
    rule: fc.oneof(...ALGORITHMS.map(smallRulesOf)),
    used: fc.integer({ min: 40, max: 100 }),
    asked: fc.integer({ min: 20, max: 110 }),
    branch: fc.integer({ min: 0, max: 3 }),
  }),
  { minLength: 2, maxLength: 6, size: 'max' },
);

function shareOf({ rule }: Alternative, hundredths: number): number {
  return Math.ceil((capacityOf(rule) * hundredths) / 100);
}

async function keepsItsPromise(probe: Probe, limits: readonly Alternative[]): Promise<void> {
  const steps: Step[] = [];
  for (const limit of limits) {
    const subject = probe.fresh(limit.rule);
    await probe.ask('take', subject, shareOf(limit, limit.used));
    const branch = limit.branch > 0 ? { branch: limit.branch } : {};
    steps.push(step('take', subject, shareOf(limit, limit.asked), branch));
  }
  if (steps.every(({ branch }) => branch === undefined)) return;
  const answers = await probe.apply(steps);
  const { waitMs, branch } = promiseOf(steps, answers);
  if (answers[0]?.answer.branch !== 0 || waitMs === Number.POSITIVE_INFINITY) return;
  const told = limits.map((limit) => `branch ${limit.branch}: ${describe(limit.rule)}`).join('; ');
  const refusedUs = probe.nowUs;
  for (const [us, expected] of [
    [refusedUs + Math.round(waitMs * 1000) - 1, 0],
    [refusedUs + Math.round(waitMs * 1000), branch],
  ] as const) {
    await probe.at(us);
    const got = (await probe.apply(steps))[0]?.answer.branch ?? -1;
    expectEqual(`${told}: ${us - refusedUs} us later, charged`, expected, got);
  }
}

/** The least wait after which all common steps and all of a branch pass, and the first branch that passes then. */
function promiseOf(
  steps: readonly Step[],
  answers: readonly Seen[],
): { readonly waitMs: number; readonly branch: number } {
  const waitOf = (branch: number | undefined): number =>
    Math.max(
      0,
      ...answers.filter((_, at) => steps[at]?.branch === branch).map((one) => one.retryAfterMs),
    );
  const branches = [1, 2, 3].filter((branch) => steps.some((one) => one.branch === branch));
  const waitMs = Math.max(waitOf(undefined), Math.min(...branches.map(waitOf)));
  return { waitMs, branch: branches.find((branch) => waitOf(branch) <= waitMs) ?? 0 };
}
