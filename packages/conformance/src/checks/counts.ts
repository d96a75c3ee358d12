import type { Step } from '@spillway/core';
import { makeLeasesRule, makeRule, type Rule } from '@spillway/core/store';
import type { Check, Harness } from '../harness.js';
import type { Subject } from '../oracle.js';
import { check, expectEqual, lease, type Probe, step } from '../probe.js';
import { ALGORITHMS, describe, type RateAlgorithm, rateRule } from '../rules.js';

const SECOND_US = 1_000_000;

export function countChecks(harness: Harness): Check[] {
  return [
    check('counts rules apart that cannot read each other', harness, countsApart),
    check('decides rules apart that meet on a key in one group', harness, decidesApart),
    check('shares what was used among rules that differ in the limit', harness, sharesUse),
    check('cuts no lease because another is shorter', harness, leavesLongLeases),
    check('rejects a group with conflicting steps on one count', harness, refusesConflicts),
    check('binds a repeated step if one of them binds', harness, bindsIfAny),
    check('renews and gives back several permits in one group, in order', harness, inOrder),
  ];
}

/** Pairs of rules that one limiter may have during a deploy, but which must not share a count. */
const STRANGERS: readonly (readonly [Rule, Rule])[] = [
  [bucket(10, 1, 50), bucket(10, 1, 5)],
  [bucket(1_000, 1, 100), bucket(10, 1, 100)],
  [bucket(10, 1), bucket(20, 2)],
  [bucket(7, 1), bucket(10, 1)],
  [rule('fixed-window', 10, 1), rule('fixed-window', 10, 2)],
  [rule('fixed-window', 10, 1), rule('sliding-window-counter', 10, 1)],
  [rule('anchored-window', 10, 1), rule('anchored-window', 10, 2)],
  [rule('anchored-window', 10, 1), rule('fixed-window', 10, 1)],
  [rule('anchored-window', 10, 1), rule('sliding-window-counter', 10, 1)],
  [rule('sliding-window-counter', 10, 1), rule('sliding-window-counter', 10, 2)],
  [rule('sliding-window-log', 10, 1), rule('sliding-window-log', 10, 2)],
  [rule('sliding-window-log', 10, 1), rule('fixed-window', 10, 1)],
  [bucket(10, 1), rule('fixed-window', 10, 1)],
];

function rule(algorithm: RateAlgorithm, limit: number, seconds: number): Rule {
  return rateRule(algorithm, limit, seconds * SECOND_US);
}

function bucket(limit: number, seconds: number, burst = limit): Rule {
  return makeRule('token-bucket', limit, seconds * SECOND_US, burst);
}

function atOnce(rule: Rule): number {
  return rule.machine === 'bucket' ? rule.burst : rule.limit;
}

async function countsApart(probe: Probe): Promise<void> {
  for (const pair of STRANGERS) {
    const first = probe.fresh(pair[0]);
    const subjects = pair.map((rule) => ({ ...first, rule }));
    const admitted = [0, 0];
    for (let turn = 0; turn < 110; turn += 1) {
      for (const [i, subject] of subjects.entries()) {
        const { allowed } = await probe.ask('take', subject);
        if (allowed) admitted[i] = (admitted[i] ?? 0) + 1;
      }
    }
    for (const [i, one] of pair.entries()) {
      const told = `${describe(one)} beside ${describe(pair[1 - i] as Rule)}: admitted`;
      expectEqual(told, atOnce(one), admitted[i] ?? 0);
    }
  }
}

async function decidesApart(probe: Probe): Promise<void> {
  for (const pair of STRANGERS) {
    const first = probe.fresh(pair[0]);
    const second = { ...first, rule: pair[1] };
    const answers = await probe.apply([step('take', first, 3), step('take', second, 2)]);
    const told = `${describe(pair[0])} and ${describe(pair[1])} in one group: remaining`;
    for (const [i, cost] of [3, 2].entries()) {
      expectEqual(told, atOnce(pair[i] as Rule) - cost, answers[i]?.remaining ?? -1);
    }
  }
}

async function sharesUse(probe: Probe): Promise<void> {
  for (const algorithm of ALGORITHMS) {
    const old = probe.fresh(rateRule(algorithm, 10, SECOND_US));
    const raised = { ...old, rule: rateRule(algorithm, 20, SECOND_US) };
    await probe.ask('take', old, 5);
    // A bucket stores the time until it is full, here half of the window. The others store units, here 5 of 20.
    const left = algorithm === 'token-bucket' ? 10 : 15;
    const told = `${algorithm}, 5 of 10 used, raised to 20`;
    expectEqual(`${told}: remaining`, left, (await probe.ask('look', raised)).remaining);
    await probe.ask('take', raised, left);
    expectEqual(`${told}, the rest taken`, false, (await probe.ask('take', old)).allowed);
  }
}

async function leavesLongLeases(probe: Probe): Promise<void> {
  const long = probe.fresh(makeLeasesRule(2, 60 * SECOND_US));
  const short = { ...long, rule: makeLeasesRule(2, SECOND_US) };
  await probe.ask('take', long, 1, lease('long'));
  await probe.ask('take', short, 1, lease('short'));
  await probe.ask('take', short, 1, lease('refused'));
  await probe.pass(SECOND_US);
  expectEqual('the short one expired: left', 1, (await probe.ask('look', short)).remaining);
  await probe.pass(58 * SECOND_US);
  await probe.ask('take', short, 1, lease('again'));
  expectEqual('the long one did not: left', 0, (await probe.ask('look', short)).remaining);
  await probe.pass(SECOND_US);
  expectEqual('both expired: left', 2, (await probe.ask('look', short)).remaining);
}

async function refusesConflicts(probe: Probe): Promise<void> {
  const subject = probe.fresh(bucket(10, 1));
  const raised = { ...subject, rule: bucket(20, 1) };
  const permits = probe.fresh(makeLeasesRule(5, SECOND_US));
  const grant = { receipt: { atUs: probe.nowUs, num: 0, units: 4 } };
  const groups: readonly Step[][] = [
    [step('take', subject), step('take', raised)],
    [step('take', subject), step('look', subject)],
    [step('put', subject, 1, grant), step('put', subject, 1, grant)],
    [step('take', permits, 1, lease('a')), step('take', permits, 1, lease('b'))],
    [step('take', permits, 1, lease('a')), step('put', permits, 1, lease('b'))],
  ];
  // Also runs each group behind 20 others, because stores find repeated counts of large groups by another method.
  const others = Array.from({ length: 20 }, () => step('look', probe.fresh(bucket(10, 1))));
  for (const group of [...groups, ...groups.map((group) => [...others, ...group])]) {
    const ops = group.slice(-2).map(({ op, rule }) => `${op} of ${describe(rule)}`);
    expectEqual(`${ops.join(' with ')}: error`, 'SPW_GROUP_INVALID', await probe.errorOf(group));
  }
  expectEqual('units left', 10, (await probe.ask('look', subject)).remaining);
  expectEqual('permits left', 5, (await probe.ask('look', permits)).remaining);
}

async function bindsIfAny(probe: Probe): Promise<void> {
  for (const binding of [
    [true, false],
    [false, true],
  ]) {
    for (const algorithm of ALGORITHMS) {
      const repeated = probe.fresh(rateRule(algorithm, 1, SECOND_US));
      const other = probe.fresh(rateRule(algorithm, 5, SECOND_US));
      const steps = binding.map((binding) => step('take', repeated, 1, { binding }));
      await probe.apply([...steps, step('take', other)]);
      const told = `${algorithm}, a shadow step and an enforced one of one key rejected`;
      expectEqual(`${told}: remaining`, 5, (await probe.ask('look', other)).remaining);
    }
  }
}

async function inOrder(probe: Probe): Promise<void> {
  const subject: Subject = probe.fresh(makeLeasesRule(2, SECOND_US));
  const group = (op: 'put' | 'record', ids: readonly string[]) =>
    probe.apply(ids.map((id) => step(op, subject, 1, lease(id))));
  const lapsed = await group('record', ['a', 'b', 'c']);
  expectEqual('three renewals, two permits: the second', true, lapsed[1]?.allowed ?? false);
  expectEqual('three renewals, two permits: the third', false, lapsed[2]?.allowed ?? true);
  expectEqual('permits left', 0, (await probe.ask('look', subject)).remaining);
  const given = await group('put', ['a', 'a', 'b', 'c']);
  const allowed = given.map((answer) => answer.allowed).join();
  expectEqual('given back: a, a, b, c', 'true,false,true,false', allowed);
  expectEqual('permits left after all', 2, (await probe.ask('look', subject)).remaining);
}
