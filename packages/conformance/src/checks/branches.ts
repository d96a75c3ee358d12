/** Checks of branches: which one is charged, and what a store answers. */

import type { Rule } from '@spillway/core/store';
import type { Check, Harness } from '../harness.js';
import { check, expectEqual, expectSame, type Probe, type Seen, step } from '../probe.js';
import { describe } from '../rules.js';
import {
  expectLeft,
  full,
  putOf,
  RULES_OF_THREE,
  shadowTake,
  take,
  three,
} from './branch-steps.js';

export function branchChecks(harness: Harness): Check[] {
  const ofEach = (name: string, proof: (probe: Probe, rule: Rule) => Promise<void>): Check =>
    check(name, harness, async (probe) => {
      for (const rule of RULES_OF_THREE) await proof(probe, rule);
    });
  return [
    ofEach('charges the first branch that passes, and no other', chargesFirst),
    ofEach('takes the branch of the lowest number as the first', goesByNumber),
    ofEach('passes a branch that has no binding take', passesShadows),
    ofEach('charges a shadow take only if it is common or in the charged branch', chargesShadows),
    ofEach('charges no branch if a common take refuses', commonRefuses),
    ofEach('charges nothing if every branch refuses', allRefuse),
    ofEach('answers the numbers of before for a branch that is not charged', tellsBefore),
    ofEach('names the branch that was charged in every answer', namesBranch),
    ofEach('records, looks, gives back and resets beside branches', actsBeside),
  ];
}

async function chargesFirst(probe: Probe, rule: Rule): Promise<void> {
  for (const first of [1, 2, 3]) {
    const common = probe.fresh(rule);
    const branches = three(probe, rule);
    for (let at = 0; at < first - 1; at += 1) branches[at] = await full(probe, rule);
    const takes = branches.map((subject, at) => take(subject, at + 1));
    const [ofCommon, ...answers] = await probe.apply([take(common), ...takes]);
    const told = `${describe(rule)}, branch ${first} is the first that passes`;
    expectEqual(`${told}: the common take passes`, true, ofCommon?.allowed ?? false);
    await expectLeft(probe, `${told}: common`, 2, common);
    for (const [at, subject] of branches.entries()) {
      const branch = at + 1;
      const what = `${told}: branch ${branch}`;
      expectEqual(`${what} passes by itself`, branch >= first, answers[at]?.allowed ?? false);
      const left = branch < first ? 0 : 3;
      await expectLeft(probe, what, branch === first ? 2 : left, subject);
    }
  }
}

async function goesByNumber(probe: Probe, rule: Rule): Promise<void> {
  const [ofSeven, ofTwo, ofTen] = three(probe, rule);
  await probe.apply([take(ofSeven, 7), take(ofTwo, 2), take(ofTen, 10)]);
  const told = `${describe(rule)}, steps in branches 7, 2 and 10`;
  await expectLeft(probe, `${told}: branch 2`, 2, ofTwo);
  await expectLeft(probe, `${told}: branch 7`, 3, ofSeven);
  await expectLeft(probe, `${told}: branch 10`, 3, ofTen);
}

async function passesShadows(probe: Probe, rule: Rule): Promise<void> {
  const used = await full(probe, rule);
  const [first, second] = three(probe, rule);
  const group = [shadowTake(used, 1), shadowTake(first, 1), take(second, 2)];
  const [refused] = await probe.apply(group);
  const told = `${describe(rule)}, branch 1 has shadow takes only`;
  expectEqual(`${told}: the one that does not pass`, false, refused?.allowed ?? true);
  await expectLeft(probe, `${told}: the one that does`, 2, first);
  await expectLeft(probe, `${told}: branch 2`, 3, second);
}

async function chargesShadows(probe: Probe, rule: Rule): Promise<void> {
  const used = await full(probe, rule);
  const shadows = three(probe, rule);
  const [common, bound] = three(probe, rule);
  const takes = shadows.map((subject, at) => shadowTake(subject, at + 1));
  await probe.apply([...takes, take(used, 1), take(bound, 2), shadowTake(common)]);
  const told = `${describe(rule)}, a shadow take in each branch, branch 2 is charged`;
  for (const [at, subject] of shadows.entries()) {
    await expectLeft(probe, `${told}: branch ${at + 1}`, at === 1 ? 2 : 3, subject);
  }
  await expectLeft(probe, `${told}: a common shadow take`, 2, common);
}

async function commonRefuses(probe: Probe, rule: Rule): Promise<void> {
  const used = await full(probe, rule);
  const [common, first, shadow] = three(probe, rule);
  const group = [take(first, 1), take(used), take(common), shadowTake(shadow, 2)];
  const [answer] = await probe.apply(group);
  const told = `${describe(rule)}, a common take refuses`;
  expectEqual(`${told}: branch 1 passes by itself`, true, answer?.allowed ?? false);
  await expectLeft(probe, `${told}: branch 1`, 3, first);
  await expectLeft(probe, `${told}: the other common take`, 3, common);
  await expectLeft(probe, `${told}: a branch of shadow takes`, 3, shadow);
}

async function allRefuse(probe: Probe, rule: Rule): Promise<void> {
  const used = await full(probe, rule);
  const spent = await full(probe, rule);
  const [common, first, shadow] = three(probe, rule);
  const branches = [take(first, 1), take(used, 1), take(spent, 2)];
  await probe.apply([take(common), ...branches, shadowTake(shadow)]);
  const told = `${describe(rule)}, every branch refuses`;
  await expectLeft(probe, `${told}: the common take`, 3, common);
  await expectLeft(probe, `${told}: a take of branch 1 that passes`, 3, first);
  await expectLeft(probe, `${told}: a common shadow take`, 3, shadow);
}

async function tellsBefore(probe: Probe, rule: Rule): Promise<void> {
  const used = await full(probe, rule);
  const [charged, spared] = three(probe, rule);
  for (const subject of [charged, spared]) await probe.apply([shadowTake(subject)]);
  await probe.pass(1_000_001);
  const takes = [take(used, 1), take(charged, 2), take(spared, 3)];
  const looks = takes.map(({ branch: _, ...one }) => ({ ...one, op: 'look' as const }));
  const before = await probe.apply(looks);
  const answers = await probe.apply(takes);
  const told = `${describe(rule)}, branch 2 is charged`;
  for (const at of [0, 2]) {
    expectSame(`${told}: branch ${at + 1}`, before[at] as Seen, answers[at] as Seen);
  }
  const left = (await probe.ask('look', charged)).remaining;
  expectEqual(`${told}: branch 2: remaining`, left, answers[1]?.remaining ?? -1);
}

async function namesBranch(probe: Probe, rule: Rule): Promise<void> {
  const used = await full(probe, rule);
  const fresh = () => probe.fresh(rule);
  const groups = [
    { charged: 1, steps: [take(fresh(), 1), take(fresh(), 2), take(fresh())] },
    { charged: 5, steps: [take(used, 3), take(fresh(), 5), step('look', fresh())] },
    { charged: 4, steps: [shadowTake(used, 4), step('reset', fresh())] },
    { charged: 0, steps: [take(used, 3), shadowTake(fresh())] },
    { charged: 0, steps: [take(used), take(fresh(), 1), step('look', fresh())] },
    { charged: undefined, steps: [take(used), take(fresh())] },
  ];
  for (const { charged, steps } of groups) {
    const told = `${describe(rule)}, branches ${steps.map(({ branch }) => branch ?? 'none')}`;
    for (const [at, { answer }] of (await probe.apply(steps)).entries()) {
      const what = `${told}: branch in answer ${at + 1}`;
      expectEqual(what, String(charged), String(answer.branch));
    }
  }
}

async function actsBeside(probe: Probe, rule: Rule): Promise<void> {
  for (const passes of [true, false]) {
    const [recorded, looked, granted] = three(probe, rule);
    const reset = await full(probe, rule);
    const branch = passes ? probe.fresh(rule) : await full(probe, rule);
    const [grant] = await probe.apply([take(granted)]);
    await probe.apply([
      { ...take(recorded), op: 'record' },
      take(branch, 1),
      { ...take(looked), op: 'look' },
      putOf(take(granted), grant),
      { ...take(reset), op: 'reset' },
    ]);
    const told = `${describe(rule)}, beside a branch that ${passes ? 'passes' : 'refuses'}`;
    await expectLeft(probe, `${told}: recorded`, 2, recorded);
    await expectLeft(probe, `${told}: looked at`, 3, looked);
    await expectLeft(probe, `${told}: given back`, 3, granted);
    await expectLeft(probe, `${told}: reset`, 3, reset);
  }
}
