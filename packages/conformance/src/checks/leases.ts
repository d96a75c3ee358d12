import { makeLeasesRule, makeRule } from '@spillway/core/store';
import fc from 'fast-check';
import type { Check, Harness, Settings } from '../harness.js';
import { check, expectEqual, lease, type Probe, step } from '../probe.js';
import { forAll } from '../property.js';
import { HOSTILE_KEYS } from './keys.js';

const LEASE_US = 10_000_000;
const YEAR_US = 365 * 86_400_000_000;

export function leaseChecks(harness: Harness, settings: Settings): Check[] {
  return [
    check('holds no more leases than the limit at any instant', harness, (probe) =>
      forAll(holders, settings, (input) => neverHoldsTooMany(probe, input)),
    ),
    check('frees a permit exactly when its lease expires', harness, expires),
    check('renews a lease without a second permit', harness, renews),
    check('takes a lapsed lease again only where there is room', harness, takesAgain),
    check('frees a permit once, and only for its own lease', harness, releasesOnce),
    check('counts critical holders, and never rejects them', harness, neverRefusesCritical),
    check('keeps the reserve for critical holders', harness, keepsReserve),
    check('takes no lease if a step of its group is rejected', harness, takesNoneOfARefusedGroup),
    check('rejects nothing for a shadow lease', harness, shadowRefusesNothing),
    check('tells leases apart by all of their ids', harness, tellsApart),
    check('holds no lease for a year when the clock was a year ahead', harness, wasAhead),
  ];
}

interface Arrival {
  readonly passUs: number;
  readonly op: 'take' | 'put' | 'record';
  readonly id: number;
}

const holders = fc.record({
  limit: fc.integer({ min: 1, max: 4 }),
  arrivals: fc.array(
    fc.record<Arrival>({
      passUs: fc.integer({ min: 0, max: LEASE_US / 2 }),
      op: fc.constantFrom('take', 'take', 'take', 'put', 'record'),
      id: fc.nat(12),
    }),
    { minLength: 4, maxLength: 30, size: 'max' },
  ),
});

async function neverHoldsTooMany(
  probe: Probe,
  { limit, arrivals }: { limit: number; arrivals: readonly Arrival[] },
): Promise<void> {
  const subject = probe.fresh(makeLeasesRule(limit, LEASE_US));
  const until = new Map<number, number>();
  for (const { passUs, op, id } of arrivals) {
    await probe.pass(passUs);
    const { allowed } = await probe.ask(op, subject, 1, lease(id));
    if (op === 'put') until.delete(id);
    else if (allowed) until.set(id, probe.nowUs + LEASE_US);
    const held = [...until.values()].filter((end) => end > probe.nowUs).length;
    expectEqual(`${held} of ${limit} leases held at once`, true, held <= limit);
    if (op === 'take' && !allowed) expectEqual('leases held at a rejection', limit, held);
  }
}

async function expires(probe: Probe): Promise<void> {
  const subject = probe.fresh(makeLeasesRule(1, LEASE_US));
  await probe.ask('take', subject, 1, lease('a'));
  await probe.pass(LEASE_US - 1);
  const refused = await probe.ask('take', subject, 1, lease('b'));
  expectEqual('1 us before the end: allowed', false, refused.allowed);
  expectEqual('1 us before the end: wait', Number.NaN, refused.retryAfterMs);
  await probe.pass(1);
  const admitted = await probe.ask('take', subject, 1, lease('b'));
  expectEqual('at its end: allowed', true, admitted.allowed);
  const late = await probe.ask('put', subject, 1, lease('a'));
  expectEqual('giving back what has expired: allowed', false, late.allowed);
  expectEqual('left after it', 0, (await probe.ask('look', subject)).remaining);
}

async function renews(probe: Probe): Promise<void> {
  const subject = probe.fresh(makeLeasesRule(2, LEASE_US));
  await probe.ask('take', subject, 1, lease('a'));
  for (let third = 0; third < 9; third += 1) {
    await probe.pass(Math.floor(LEASE_US / 3));
    const renewed = await probe.ask('record', subject, 1, lease('a'));
    expectEqual('renewal: allowed', true, renewed.allowed);
    expectEqual('left after a renewal', 1, renewed.remaining);
  }
  await probe.ask('take', subject, 1, lease('b'));
  const again = await probe.ask('take', subject, 1, lease('a'));
  expectEqual('a take of what is held, at the limit: allowed', true, again.allowed);
  expectEqual('left after it', 0, again.remaining);
}

async function takesAgain(probe: Probe): Promise<void> {
  const subject = probe.fresh(makeLeasesRule(1, LEASE_US));
  await probe.ask('take', subject, 1, lease('a'));
  await probe.pass(LEASE_US);
  const back = await probe.ask('record', subject, 1, lease('a'));
  expectEqual('renewal after the end, nobody else there: allowed', true, back.allowed);
  await probe.pass(LEASE_US);
  await probe.ask('take', subject, 1, lease('b'));
  const lost = await probe.ask('record', subject, 1, lease('a'));
  expectEqual('renewal after the end, no room: allowed', false, lost.allowed);
  await probe.ask('put', subject, 1, lease('b'));
  expectEqual('left after the other is done', 1, (await probe.ask('look', subject)).remaining);
}

async function releasesOnce(probe: Probe): Promise<void> {
  const subject = probe.fresh(makeLeasesRule(2, LEASE_US));
  await probe.ask('take', subject, 1, lease('a'));
  await probe.ask('take', subject, 1, lease('b'));
  const stranger = await probe.ask('put', subject, 1, lease('c'));
  expectEqual("a stranger's release: allowed", false, stranger.allowed);
  expectEqual("left after a stranger's release", 0, stranger.remaining);
  const nameless = await probe.ask('put', subject, 1);
  expectEqual('a release of no lease: allowed', false, nameless.allowed);
  const first = await probe.ask('put', subject, 1, lease('a'));
  expectEqual('release: allowed', true, first.allowed);
  expectEqual('left after a release', 1, first.remaining);
  const second = await probe.ask('put', subject, 1, lease('a'));
  expectEqual('second release: allowed', false, second.allowed);
  expectEqual('left after a second release', 1, second.remaining);
}

async function neverRefusesCritical(probe: Probe): Promise<void> {
  const subject = probe.fresh(makeLeasesRule(4, LEASE_US, 0.5));
  for (let id = 0; id < 8; id += 1) {
    const answer = await probe.ask('take', subject, 1, lease(id, true));
    expectEqual(`critical holder ${id + 1} of 4: allowed`, true, answer.allowed);
  }
  const refused = await probe.ask('take', subject, 1, lease('ordinary'));
  expectEqual('beside 8 critical holders of 4: allowed', false, refused.allowed);
  for (let id = 0; id < 5; id += 1) await probe.ask('put', subject, 1, lease(id, true));
  const admitted = await probe.ask('take', subject, 1, lease('ordinary'));
  expectEqual('beside 3 critical holders of 4: allowed', true, admitted.allowed);
}

async function keepsReserve(probe: Probe): Promise<void> {
  const subject = probe.fresh(makeLeasesRule(10, LEASE_US, 0.25));
  const takes = (from: number, to: number, critical: boolean): Promise<number> =>
    countTakes(probe, subject, from, to, critical);
  // An ordinary holder passes while others of its kind hold fewer than 7.5 permits, so the eighth passes and the ninth
  // does not.
  expectEqual('ordinary holders admitted', 8, await takes(0, 10, false));
  expectEqual('critical holders beside them', 2, await takes(10, 12, true));
  await probe.ask('put', subject, 1, lease(0));
  expectEqual('one ordinary holder less: admitted', 1, await takes(12, 14, false));
  await probe.ask('take', subject, 1, lease(14, true));
  await probe.ask('put', subject, 1, lease(1));
  expectEqual('none of 10 left, though one of 8 is: admitted', 0, await takes(15, 16, false));
}

async function countTakes(
  probe: Probe,
  subject: Parameters<Probe['ask']>[1],
  from: number,
  to: number,
  critical: boolean,
): Promise<number> {
  let admitted = 0;
  for (let id = from; id < to; id += 1) {
    if ((await probe.ask('take', subject, 1, lease(id, critical))).allowed) admitted += 1;
  }
  return admitted;
}

async function takesNoneOfARefusedGroup(probe: Probe): Promise<void> {
  const leases = probe.fresh(makeLeasesRule(2, LEASE_US));
  const bucket = probe.fresh(makeRule('token-bucket', 1, 60_000_000));
  const group = (id: string) =>
    probe.apply([step('take', leases, 1, lease(id)), step('take', bucket)]);
  const admitted = await group('a');
  expectEqual(
    'both pass',
    true,
    admitted.every(({ allowed }) => allowed),
  );
  const refused = await group('b');
  expectEqual('the lease by itself: allowed', true, refused[0]?.allowed ?? false);
  expectEqual('the bucket: allowed', false, refused[1]?.allowed ?? true);
  expectEqual('permits left', 1, (await probe.ask('look', leases)).remaining);
  await probe.ask('take', leases, 1, lease('c'));
  await probe.ask('reset', bucket);
  await group('d');
  expectEqual('units left beside a full count', 1, (await probe.ask('look', bucket)).remaining);
}

async function shadowRefusesNothing(probe: Probe): Promise<void> {
  const leases = probe.fresh(makeLeasesRule(1, LEASE_US));
  const bucket = probe.fresh(makeRule('token-bucket', 5, 60_000_000));
  for (const [id, passes] of [
    ['a', true],
    ['b', false],
  ] as const) {
    const [shadow, binding] = await probe.apply([
      step('take', leases, 1, { ...lease(id), binding: false }),
      step('take', bucket),
    ]);
    expectEqual(`shadow lease ${id}: its own verdict`, passes, shadow?.allowed ?? false);
    expectEqual(`beside shadow lease ${id}: allowed`, true, binding?.allowed ?? false);
  }
  const held = await probe.ask('put', leases, 1, lease('a'));
  expectEqual('the shadow lease that passed was held', true, held.allowed);
}

async function tellsApart(probe: Probe): Promise<void> {
  const usual = HOSTILE_KEYS.filter((id) => id !== '' && id.length < 1_000 && isWellFormed(id));
  const long = ['a', 'b'].map((end) => 'l'.repeat(63) + end);
  const ids = [...usual, ...long];
  const subject = probe.fresh(makeLeasesRule(ids.length, LEASE_US));
  for (const id of ids) {
    await probe.ask('take', subject, 1, { lease: { id, critical: false } });
  }
  expectEqual('permits left', 0, (await probe.ask('look', subject)).remaining);
  for (const [at, id] of ids.entries()) {
    const given = await probe.ask('put', subject, 1, { lease: { id, critical: false } });
    expectEqual(`release of ${JSON.stringify(id)}: permits left`, at + 1, given.remaining);
  }
}

/** Whether an id has no lone surrogates. Ids of leases never have any, because this library generates them. */
function isWellFormed(id: string): boolean {
  return !/\p{Surrogate}/u.test(id);
}

async function wasAhead(probe: Probe): Promise<void> {
  const subject = probe.fresh(makeLeasesRule(2, LEASE_US));
  const startUs = probe.nowUs;
  await probe.at(startUs + YEAR_US);
  await probe.ask('take', subject, 1, lease('a'));
  await probe.ask('take', subject, 1, lease('b', true));
  await probe.at(startUs);
  const refused = await probe.ask('take', subject, 1, lease('c'));
  expectEqual('a year back: allowed', false, refused.allowed);
  await probe.pass(LEASE_US);
  const admitted = await probe.ask('take', subject, 1, lease('c'));
  expectEqual("a lease's length later: allowed", true, admitted.allowed);
  expectEqual('permits left', 1, admitted.remaining);
}
