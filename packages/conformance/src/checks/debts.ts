import {
  calendarNamed,
  makeCalendarRule,
  makeRule,
  type Rule,
  unitsOf,
  withDebt,
} from '@spillway/core/store';
import fc from 'fast-check';
import type { Check, Harness, Settings } from '../harness.js';
import type { Subject } from '../oracle.js';
import { check, expectEqual, type Probe, receiptOf, type Seen, step } from '../probe.js';
import { forAll } from '../property.js';
import { debtRules, describe } from '../rules.js';
import { traces } from '../trace.js';
import { replay } from '../trace-replay.js';

const RULES: readonly Rule[] = [
  withDebt(makeRule('token-bucket', 100, 60_000_000), 50, 100),
  withDebt(makeCalendarRule(100, calendarNamed('day@UTC')), 50, 100),
];

export function debtChecks(harness: Harness, settings: Settings): Check[] {
  const each = (name: string, proof: (probe: Probe, rule: Rule) => Promise<void>): Check =>
    check(name, harness, async (probe) => {
      for (const rule of RULES) await proof(probe, rule);
    });
  return [
    check('replays traces of rules with debt exactly as the oracle', harness, (probe) =>
      forAll(traces(alone, { width: 2 }), settings, (trace) => replay(probe, trace)),
    ),
    check('replays rules with debt that meet on one key exactly as the oracle', harness, (probe) =>
      forAll(traces(kin, { width: 3, meet: true }), settings, (trace) => replay(probe, trace)),
    ),
    check('rejects for exactly the promised wait in debt', harness, (probe) =>
      forAll(charges, settings, (costs) => keepsItsPromise(probe, costs)),
    ),
    each('records up to the limit and the debt, and says what it forgives', forgives),
    each('charges what a grant owes, and nothing of it with a rejection', owes),
    each('gives back what a grant and its debt were charged', givesBack),
    each('charges no debt if another step rejects the group', chargesTogether),
    check('keeps the debt of a bucket when its limit is changed', harness, keepsDebt),
    check('ends the debt of a calendar with its period', harness, endsWithItsPeriod),
  ];
}

const alone = debtRules.map((rule): readonly Rule[] => [rule]);

/** Four token buckets that may share a count. Two have debts that refill in the same time, the others have no debt. */
const kin = fc
  .tuple(
    fc.constantFrom(1, 2, 5, 7, 14),
    fc.constantFrom(1, 2, 5, 7, 14),
    fc.constantFrom(1, 2, 5, 10),
    fc.constantFrom(1, 2, 5, 7),
  )
  .map(([one, other, debt, ofLimit]): readonly Rule[] => [
    withDebt(makeRule('token-bucket', one, 7_000_000), debt, ofLimit),
    withDebt(makeRule('token-bucket', other, 7_000_000), debt, ofLimit),
    makeRule('token-bucket', one, 7_000_000, one + debt),
    makeRule('token-bucket', other, 7_000_000),
  ]);

const charges = fc.record({
  rule: debtRules,
  costs: fc.array(fc.record({ cost: fc.integer({ min: 1, max: 60 }), passUs: fc.nat(3_000_000) }), {
    minLength: 1,
    maxLength: 6,
  }),
});

async function keepsItsPromise(
  probe: Probe,
  { rule, costs }: { rule: Rule; costs: readonly { cost: number; passUs: number }[] },
): Promise<void> {
  if (rule.machine === 'calendar' && rule.calendar.name === 'billing') return;
  const subject = probe.fresh(rule);
  for (const { cost, passUs } of costs) {
    await probe.pass(passUs);
    await probe.ask('record', subject, cost);
    const refused = await probe.ask('take', subject);
    if (refused.allowed) continue;
    const waitUs = Math.round(refused.retryAfterMs * 1000);
    const told = `${describe(rule)}, promised wait ${waitUs} us`;
    const refusedUs = probe.nowUs;
    if (refusedUs + waitUs > 4_000_000_000_000_000) return;
    await probe.at(refusedUs + waitUs - 1);
    expectEqual(`${told}, 1 us early`, false, (await probe.ask('take', subject)).allowed);
    await probe.at(refusedUs + waitUs);
    expectEqual(`${told}, on time`, true, (await probe.ask('take', subject)).allowed);
  }
}

async function forgives(probe: Probe, rule: Rule): Promise<void> {
  const subject = probe.fresh(rule);
  const rows = [
    [80, true, 80, 0],
    [58, false, 138, 0],
    [58, false, 150, 46],
    [Number.MAX_SAFE_INTEGER, false, 150, Number.MAX_SAFE_INTEGER],
  ] as const;
  for (const [cost, allowed, used, forgiven] of rows) {
    const answer = await probe.ask('record', subject, cost);
    expectEqual(`record ${cost}: allowed`, allowed, answer.allowed);
    expectEqual(`record ${cost}: used`, used, answer.used);
    expectEqual(`record ${cost}: remaining`, Math.max(0, 100 - used), answer.remaining);
    expectEqual(`record ${cost}: forgiven`, forgiven, answer.forgiven);
  }
  const free = await probe.ask('take', subject, 0);
  expectEqual('take 0 in debt: allowed', true, free.allowed);
  expectEqual('take 0 in debt: retryAfterMs', 0, free.retryAfterMs);
}

async function owes(probe: Probe, rule: Rule): Promise<void> {
  const subject = probe.fresh(rule);
  const granted = await probe.ask('take', subject, 60, { owed: 70 });
  expectEqual('take 60 and 70 owed: allowed', true, granted.allowed);
  expectEqual('take 60 and 70 owed: used', 130, granted.used);
  const refused = await probe.ask('take', subject, 1, { owed: 5 });
  expectEqual('take 1 and 5 owed in debt: allowed', false, refused.allowed);
  expectEqual('take 1 and 5 owed in debt: used', 130, refused.used);
  expectEqual('take 1 and 5 owed in debt: forgiven', 0, refused.forgiven);
  const recorded = await probe.ask('record', subject, 10, { owed: 25 });
  expectEqual('record 10 and 25 owed: used', 150, recorded.used);
  expectEqual('record 10 and 25 owed: forgiven', 15, recorded.forgiven);
}

function receipt(taken: Parameters<typeof unitsOf>[0], { answer, forgiven }: Seen) {
  return { receipt: receiptOf(answer, unitsOf(taken) - forgiven) };
}

async function givesBack(probe: Probe, rule: Rule): Promise<void> {
  const subject = probe.fresh(rule);
  await probe.ask('take', subject, 20);
  const take = step('take', subject, 50, { owed: 300 });
  const [granted] = (await probe.apply([take])) as readonly [Seen];
  expectEqual('take 50 and 300 owed: forgiven', 220, granted.forgiven);
  const extras = receipt(take, granted);
  const half = await probe.ask('put', subject, 70, extras);
  expectEqual('put 70: used', 80, half.used);
  const { atUs, num, units } = extras.receipt;
  const rest = {
    atUs: rule.machine === 'bucket' ? atUs - 42_000_000 : atUs,
    num,
    units: units - 70,
  };
  const whole = await probe.ask('put', subject, 1_000, { receipt: rest });
  expectEqual('put of the rest: used', 20, whole.used);
}

async function chargesTogether(probe: Probe, rule: Rule): Promise<void> {
  const subject = probe.fresh(rule);
  const other: Subject = probe.fresh(makeRule('fixed-window', 1, 60_000_000));
  const group = [step('take', subject, 10, { owed: 20 }), step('take', other, 1)];
  const used = async () => (await probe.apply(group))[0]?.used;
  expectEqual('first: used', 30, (await used()) ?? Number.NaN);
  expectEqual('the other limit rejects: used', 30, (await used()) ?? Number.NaN);
}

async function keepsDebt(probe: Probe): Promise<void> {
  const subject = probe.fresh(withDebt(makeRule('token-bucket', 10, 60_000_000), 10, 10));
  await probe.ask('record', subject, 15);
  const twice = withDebt(makeRule('token-bucket', 20, 60_000_000), 10, 10);
  const look = await probe.ask('look', { ...subject, rule: twice });
  expectEqual('at twice the limit: used', 30, look.used);
  expectEqual('at twice the limit: retryAfterMs', 33_000, look.retryAfterMs);
  const without = await probe.ask('look', {
    ...subject,
    rule: makeRule('token-bucket', 10, 60_000_000),
  });
  expectEqual('without debt, another count: used', 0, without.used);
}

async function endsWithItsPeriod(probe: Probe): Promise<void> {
  const plain = makeCalendarRule(10, calendarNamed('day@UTC'));
  const subject = probe.fresh(withDebt(plain, 10, 10));
  await probe.at(Date.UTC(2026, 10, 30, 23, 59, 59) * 1000);
  const take = await probe.ask('take', subject, 5);
  await probe.ask('record', subject, 10);
  const look = await probe.ask('look', { ...subject, rule: plain });
  expectEqual('without debt, the same count: used', 15, look.used);
  expectEqual('retryAfterMs', 1_000, look.retryAfterMs);
  await probe.pass(1_000_000);
  const record = await probe.ask('record', subject, 3);
  expectEqual('a settlement on the next day: used', 3, record.used);
  const put = await probe.ask('put', subject, 3, { receipt: receiptOf(take.answer, 5) });
  expectEqual('less on the next day: allowed', false, put.allowed);
  expectEqual('less on the next day: used', 3, put.used);
}
