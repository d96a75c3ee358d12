import { makeLeasesRule, makeRule } from '@spillway/core/store';
import type { Check, Harness } from '../harness.js';
import {
  check,
  claim,
  expectEqual,
  lease,
  type Probe,
  receiptOf,
  type Seen,
  step,
} from '../probe.js';
import { ALGORITHMS, describe, rateRule } from '../rules.js';
import { expectTold, FREE_YES, RULE } from './claims.js';

const KEEP_US = RULE.keepUs;

export function claimGroupChecks(harness: Harness): Check[] {
  return [
    check('takes no claim if a step of its group is rejected', harness, takesNone),
    check('charges nothing of a group whose claim is held', harness, chargesNothing),
    check('rejects nothing for a shadow claim', harness, shadowRefusesNothing),
    check('ends claim, permit and grant in one group', harness, endsTogether),
    check('does what several steps ask of one claim in order', harness, inOrder),
    check('drops a claim at a reset that names it, and no other', harness, drops),
    check('rejects a group with an invalid claim', harness, refusesMistakes),
  ];
}

async function takesNone(probe: Probe): Promise<void> {
  for (const algorithm of ALGORITHMS) {
    const claims = probe.fresh(RULE);
    const full = probe.fresh(rateRule(algorithm, 1, KEEP_US));
    await probe.ask('take', full);
    const [seen, other] = await probe.apply([
      step('take', claims, 1, claim('id', 1)),
      step('take', full),
    ]);
    expectTold(`beside ${describe(full.rule)}, full: the claim`, FREE_YES, seen);
    expectEqual('the other', false, other?.allowed ?? true);
    const look = await probe.ask('look', claims, 1, claim('id', 2));
    expectTold(`after ${describe(full.rule)} has refused`, FREE_YES, look);
  }
}

async function chargesNothing(probe: Probe): Promise<void> {
  const claims = probe.fresh(RULE);
  const others = ALGORITHMS.map((algorithm) => probe.fresh(rateRule(algorithm, 3, KEEP_US)));
  const permits = probe.fresh(makeLeasesRule(3, KEEP_US));
  const group = (owner: number) =>
    probe.apply([
      ...others.map((subject) => step('take', subject)),
      step('take', permits, 1, lease(owner)),
      step('take', claims, 1, claim('id', owner)),
    ]);
  expectTold('first', 'yes: running 1, 1 used, 0 left, 0, 10000', (await group(1)).at(-1));
  for (const repeat of ['running', 'done']) {
    const seen = await group(2);
    expectEqual(`${repeat}: the claim`, repeat, seen.at(-1)?.claim.split(' ')[0] ?? 'none');
    for (const [at, { rule }] of [...others, permits].entries()) {
      expectEqual(`${repeat}: left of ${describe(rule)}`, 2, seen[at]?.remaining ?? -1);
    }
    await probe.ask('done', claims, 1, claim('id', 1));
  }
}

async function shadowRefusesNothing(probe: Probe): Promise<void> {
  const claims = probe.fresh(RULE);
  const bucket = probe.fresh(makeRule('token-bucket', 5, KEEP_US));
  const group = (owner: number) =>
    probe.apply([
      step('take', claims, 1, { ...claim('id', owner), binding: false }),
      step('take', bucket),
    ]);
  const [first] = await group(1);
  expectTold('it is taken', 'yes: running 1, 1 used, 0 left, 0, 10000', first);
  const [second, beside] = await group(2);
  expectTold('a repeat', 'no: running 1, 1 used, 0 left, 10000, 10000', second);
  expectEqual('beside a repeat: left', 3, beside?.remaining ?? -1);
}

async function endsTogether(probe: Probe): Promise<void> {
  const claims = probe.fresh(RULE);
  const permits = probe.fresh(makeLeasesRule(1, KEEP_US));
  const bucket = probe.fresh(makeRule('token-bucket', 1, KEEP_US));
  const [, , grant] = await probe.apply([
    step('take', claims, 1, claim('id', 1)),
    step('take', permits, 1, lease('a')),
    step('take', bucket),
  ]);
  const receipt = receiptOf((grant as Seen).answer, 1);
  const ended = await probe.apply([
    step('put', permits, 1, lease('a')),
    step('put', bucket, 1, { receipt }),
    step('done', claims, 1, claim('id', 1, 'kept')),
  ]);
  expectEqual('permits left', 1, ended[0]?.remaining ?? -1);
  expectEqual('units left', 1, ended[1]?.remaining ?? -1);
  expectTold('the claim', 'yes: done 1 "kept", 1 used, 0 left, 0, 60000', ended[2]);
}

async function inOrder(probe: Probe): Promise<void> {
  const subject = probe.fresh(RULE);
  const group = (asked: readonly (readonly ['record' | 'done' | 'put' | 'look', number])[]) =>
    probe.apply(asked.map(([op, owner]) => step(op, subject, 1, claim('id', owner))));
  const first = await group([
    ['record', 1],
    ['record', 2],
    ['put', 1],
    ['look', 2],
    ['done', 2],
    ['done', 1],
  ]);
  const answers = first.map(({ allowed }) => allowed).join();
  expectEqual('renewed, given up, done', 'true,false,true,true,true,false', answers);
  const look = await probe.ask('look', subject, 1, claim('id', 2));
  expectTold('after it', 'no: done 2, 1 used, 0 left, NaN, 60000', look);
}

async function drops(probe: Probe): Promise<void> {
  const subject = probe.fresh(RULE);
  for (const id of ['runs', 'stays']) await probe.ask('take', subject, 1, claim(id, 1));
  await probe.ask('done', subject, 1, claim('done', 1));
  await probe.ask('reset', subject, 0);
  for (const [id, left] of [
    ['runs', 0],
    ['stays', 0],
    ['done', 0],
  ] as const) {
    const look = await probe.ask('look', subject, 1, claim(id, 2));
    expectEqual(`${id}, after a reset of its key: left`, left, look.remaining);
  }
  for (const id of ['runs', 'done']) {
    const nobody = { claim: { id, owner: '' } };
    expectTold(`${id}, reset`, FREE_YES, await probe.ask('reset', subject, 0, nobody));
    expectTold(`${id}, after it`, FREE_YES, await probe.ask('look', subject, 1, nobody));
  }
  const look = await probe.ask('look', subject, 1, claim('stays', 2));
  expectTold('the other', 'no: running 1, 1 used, 0 left, 10000, 10000', look);
}

async function refusesMistakes(probe: Probe): Promise<void> {
  const subject = probe.fresh(RULE);
  const bucket = probe.fresh(makeRule('token-bucket', 5, KEEP_US));
  const named = claim('id', 1);
  const owned = (owner: string) => ({ claim: { id: 'id', owner } });
  const groups = [
    [step('take', subject)],
    [step('look', subject)],
    [step('done', subject)],
    [step('take', bucket, 1, named)],
    [step('done', bucket)],
    [step('hold', subject, 1, { ...named, holdUs: 1 })],
    [step('take', subject, 2, named)],
    [step('take', subject, 0, named)],
    [step('take', subject, 1, owned(''))],
    [step('take', subject, 1, owned('o'.repeat(15)))],
    [step('take', subject, 1, owned('o'.repeat(17)))],
    [step('take', subject, 1, owned(`${'o'.repeat(15)}:`))],
    [step('done', subject, 1, owned(''))],
    [step('done', subject, 1, claim('id', 1, 'n'.repeat(257)))],
    [step('done', subject, 1, claim('id', 1, 'é'))],
    [step('done', subject, 1, claim('id', 1, 'a\nb'))],
    [step('take', subject, 1, { ...named, onStoreError: bucket.rule })],
    [step('take', subject, 1, named), step('take', subject, 1, claim('id', 2))],
    [step('take', subject, 1, named), step('done', subject, 1, named)],
  ];
  for (const group of groups) {
    const [{ op, cost, claim, rule }] = group as [(typeof group)[0]];
    const what = `${op} ${cost} of ${describe(rule)} with ${JSON.stringify(claim)}`;
    expectEqual(`${what}: error`, 'SPW_GROUP_INVALID', await probe.errorOf(group));
    const beside = await probe.errorOf([...group, step('take', bucket)]);
    expectEqual(`${what}, beside another: error`, 'SPW_GROUP_INVALID', beside);
  }
  expectTold('after all', FREE_YES, await probe.ask('look', subject, 1, named));
  expectEqual('units left', 5, (await probe.ask('look', bucket)).remaining);
}
