import { makeRule, type Rule } from '@spillway/core/store';
import fc from 'fast-check';
import type { Check, Harness, Settings } from '../harness.js';
import type { Subject } from '../oracle.js';
import { check, expectEqual, expectSame, type Probe, step } from '../probe.js';
import { forAll } from '../property.js';
import { ALGORITHMS, describe, rateRule, smallRulesOf } from '../rules.js';

const BIG = 300;

export function groupChecks(harness: Harness, settings: Settings): Check[] {
  return [
    check('charges no step of a group if one is rejected', harness, chargesNone),
    check('lets a shadow step charge exactly as its enforcing twin would', harness, (probe) =>
      forAll(shadowed, settings, (input) => judgesShadowAsTwin(probe, input)),
    ),
    check('never rejects a group for a shadow step', harness, neverVetoes),
    check('counts the same key twice in a group together', harness, countsTogether),
    check(`decides a group of ${BIG} steps as one`, harness, decidesBigGroups),
  ];
}

function oneOfEach(probe: Probe, limit: number): Subject[] {
  return ALGORITHMS.map((algorithm) => probe.fresh(rateRule(algorithm, limit, 60_000_000)));
}

async function chargesNone(probe: Probe): Promise<void> {
  for (let refusing = 0; refusing < ALGORITHMS.length; refusing += 1) {
    const subjects = oneOfEach(probe, 3);
    const full = subjects[refusing] as Subject;
    await probe.ask('take', full, 3);
    const answers = await probe.apply(subjects.map((subject) => step('take', subject, 2)));
    for (const [at, subject] of subjects.entries()) {
      const told = `${describe(subject.rule)} beside a rejecting ${describe(full.rule)}`;
      expectEqual(`${told}: allowed`, at !== refusing, answers[at]?.allowed ?? false);
      expectEqual(`${told}: remaining`, at === refusing ? 0 : 3, answers[at]?.remaining ?? -1);
      const look = await probe.ask('look', subject, 1);
      expectEqual(`${told}: remaining afterwards`, at === refusing ? 0 : 3, look.remaining);
    }
  }
}

interface Shadowed {
  readonly enforced: Rule;
  readonly shadow: Rule;
  readonly arrivals: readonly { readonly cost: number; readonly passUs: number }[];
}

const smallRule = fc.oneof(...ALGORITHMS.map(smallRulesOf));

const shadowed: fc.Arbitrary<Shadowed> = fc.record({
  enforced: smallRule,
  shadow: smallRule,
  arrivals: fc.array(
    fc.record({
      cost: fc.integer({ min: 1, max: 8 }),
      passUs: fc.integer({ min: 0, max: 10_000_000 }),
    }),
    { minLength: 2, maxLength: 12, size: 'max' },
  ),
});

/**
 * A limiter in shadow mode must not be charged for requests that the enforcing limiter of its group rejects. So it must
 * answer like a twin with the same rule that gets only the admitted requests.
 */
async function judgesShadowAsTwin(probe: Probe, input: Shadowed): Promise<void> {
  const enforced = probe.fresh(input.enforced);
  const shadow = probe.fresh(input.shadow);
  const twin = probe.fresh(input.shadow);
  const told = `shadow ${describe(input.shadow)} beside ${describe(input.enforced)}`;
  for (const { cost, passUs } of input.arrivals) {
    await probe.pass(passUs);
    const [binding, shadowAnswer] = await probe.apply([
      step('take', enforced, cost),
      step('take', shadow, cost, { binding: false }),
    ]);
    const twinAnswer = await probe.ask(binding?.allowed ? 'take' : 'look', twin, cost);
    if (shadowAnswer) expectSame(`${told}, cost ${cost}`, twinAnswer, shadowAnswer);
  }
}

async function neverVetoes(probe: Probe): Promise<void> {
  for (const shadow of oneOfEach(probe, 1)) {
    const bound = probe.fresh(makeRule('token-bucket', 3, 60_000_000));
    for (const [shadowAllowed, remaining] of [
      [true, 2],
      [false, 1],
      [false, 0],
    ] as const) {
      const [first, second] = await probe.apply([
        step('take', shadow, 1, { binding: false }),
        step('take', bound, 1),
      ]);
      const told = `beside a shadow ${describe(shadow.rule)}`;
      expectEqual(`${told}: the shadow's own verdict`, shadowAllowed, first?.allowed ?? false);
      expectEqual(`${told}: allowed`, true, second?.allowed ?? false);
      expectEqual(`${told}: remaining`, remaining, second?.remaining ?? -1);
    }
  }
}

async function countsTogether(probe: Probe): Promise<void> {
  for (const subject of oneOfEach(probe, 5)) {
    const other = probe.fresh(subject.rule);
    const told = `${describe(subject.rule)}, key twice`;
    const group = (a: number, b: number) =>
      probe.apply([step('take', subject, a), step('take', other, 1), step('take', subject, b)]);

    const refused = await group(3, 3);
    const allPass = refused.every((answer) => answer.allowed);
    expectEqual(`${told}, 3 and 3 of 5: all pass`, false, allPass);
    expectEqual(`${told}: remaining after it`, 5, (await probe.ask('look', subject)).remaining);
    expectEqual(`${told}: the other key's`, 5, (await probe.ask('look', other)).remaining);

    const admitted = await group(3, 2);
    expectEqual(
      `${told}, 3 and 2 of 5: all pass`,
      true,
      admitted.every((a) => a.allowed),
    );
    expectEqual(`${told}: remaining in the last answer`, 0, admitted.at(-1)?.remaining ?? -1);
    expectEqual(`${told}: remaining after it`, 0, (await probe.ask('look', subject)).remaining);
    expectEqual(`${told}: the other key's`, 4, (await probe.ask('look', other)).remaining);
  }
}

async function decidesBigGroups(probe: Probe): Promise<void> {
  const rules = ALGORITHMS.map((algorithm) => rateRule(algorithm, 2, 60_000_000));
  const subjects = Array.from({ length: BIG }, (_, at) =>
    probe.fresh(rules[at % rules.length] as Rule, `key-${at}`),
  );
  const takes = subjects.map((subject) => step('take', subject, 1));
  const looks = subjects.map((subject) => step('look', subject, 1));
  const last = subjects.at(-1) as Subject;
  await probe.ask('take', last, 2);

  const refused = await probe.apply(takes);
  expectEqual('steps that pass', BIG - 1, refused.filter((answer) => answer.allowed).length);
  const kept = (await probe.apply(looks)).filter((answer) => answer.remaining === 2);
  expectEqual('keys untouched by a rejection of the last step', BIG - 1, kept.length);

  await probe.ask('reset', last);
  const admitted = await probe.apply(takes);
  expectEqual('steps that pass', BIG, admitted.filter((answer) => answer.allowed).length);
  const charged = (await probe.apply(looks)).filter((answer) => answer.remaining === 1);
  expectEqual('keys charged once', BIG, charged.length);
}
