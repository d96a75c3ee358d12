import { type ClaimsAnswer, type ClaimsRule, makeClaimsRule } from '@spillway/core/store';
import type { Check, Harness } from '../harness.js';
import type { Subject } from '../oracle.js';
import { check, claim, expectEqual, type Probe, type Seen } from '../probe.js';
import { HOSTILE_KEYS } from './keys.js';

/** How long a finished claim is kept. This is longer than the lease, so a check can tell which of the two applies. */
const KEEP_US = 60_000_000;
const LEASE_US = 10_000_000;
const DAY_US = 86_400_000_000;
export const RULE: ClaimsRule = makeClaimsRule(LEASE_US, KEEP_US);

export function claimChecks(harness: Harness): Check[] {
  return [
    check('lets one of many owners run a claim', harness, runsOnce),
    check('frees a claim exactly when its lease ends', harness, frees),
    check('takes a claim again for the owner who runs it', harness, resends),
    check('renews a claim for its owner alone', harness, renews),
    check('keeps what is done, exactly as long as told', harness, keeps),
    check('marks a claim as done once, and for its owner alone', harness, marksOnce),
    check('lets nobody who has lost a claim end it', harness, fences),
    check('gives up a claim that runs, for its owner alone', harness, givesUp),
    check('counts claims apart by limiter, key and id', harness, countsApart),
    check('holds no claim for years when the clock was years ahead', harness, wasAhead),
    check('looks at claims without a trace whatever the clock shows', harness, looksOnly),
  ];
}

function told({ allowed, answer, used, remaining, retryAfterMs, resetMs }: Seen): string {
  const { state, owner, note } = answer as ClaimsAnswer;
  const who = owner === '' ? '' : ` ${owner.replace(/^o+/, '')}`;
  const kept = note === '' ? '' : ` "${note}"`;
  return `${allowed ? 'yes' : 'no'}: ${state}${who}${kept}, ${used} used, ${remaining} left, ${retryAfterMs}, ${resetMs}`;
}

export function expectTold(what: string, expected: string, seen: Seen | undefined): void {
  expectEqual(what, expected, seen ? told(seen) : 'nothing');
}

export const FREE_YES = 'yes: free, 0 used, 1 left, 0, 0';

async function runsOnce(probe: Probe): Promise<void> {
  const subject = probe.fresh(RULE);
  const owners = Array.from({ length: 50 }, (_, at) => at + 1);
  const all = await Promise.all(
    owners.map((owner) => probe.ask('take', subject, 1, claim('id', owner))),
  );
  const runs = all.flatMap(({ allowed }, at) => (allowed ? [at + 1] : []));
  expectEqual('owners who may run it', 1, runs.length);
  for (const seen of all) {
    const yes = seen.allowed ? 'yes' : 'no';
    const wait = seen.allowed ? 0 : 10_000;
    expectTold('each', `${yes}: running ${runs[0]}, 1 used, 0 left, ${wait}, 10000`, seen);
  }
}

async function frees(probe: Probe): Promise<void> {
  const subject = probe.fresh(RULE);
  await probe.ask('take', subject, 1, claim('id', 1));
  await probe.pass(LEASE_US - 1);
  const refused = await probe.ask('take', subject, 1, claim('id', 2));
  expectTold('1 us before the end', 'no: running 1, 1 used, 0 left, 0.001, 0.001', refused);
  await probe.pass(1);
  const look = await probe.ask('look', subject, 1, claim('id', 2));
  expectTold('a look at its end', FREE_YES, look);
  const admitted = await probe.ask('take', subject, 1, claim('id', 2));
  expectTold('at its end', 'yes: running 2, 1 used, 0 left, 0, 10000', admitted);
}

async function resends(probe: Probe): Promise<void> {
  const subject = probe.fresh(RULE);
  await probe.ask('take', subject, 1, claim('id', 1));
  await probe.pass(LEASE_US / 2);
  const again = await probe.ask('take', subject, 1, claim('id', 1));
  expectTold('sent again', 'yes: running 1, 1 used, 0 left, 0, 10000', again);
  await probe.ask('done', subject, 1, claim('id', 1, 'kept'));
  const late = await probe.ask('take', subject, 1, claim('id', 1));
  expectTold('sent again when done', 'no: done 1 "kept", 1 used, 0 left, NaN, 60000', late);
}

async function renews(probe: Probe): Promise<void> {
  const subject = probe.fresh(RULE);
  const never = await probe.ask('record', subject, 1, claim('never', 1));
  expectTold('what nobody runs', 'yes: running 1, 1 used, 0 left, 0, 10000', never);
  await probe.ask('take', subject, 1, claim('id', 1));
  for (let third = 0; third < 9; third += 1) {
    await probe.pass(Math.floor(LEASE_US / 3));
    const renewed = await probe.ask('record', subject, 1, claim('id', 1));
    expectTold('a renewal', 'yes: running 1, 1 used, 0 left, 0, 10000', renewed);
  }
  const other = await probe.ask('record', subject, 1, claim('id', 2));
  expectTold('by another', 'no: running 1, 1 used, 0 left, 10000, 10000', other);
  await probe.pass(LEASE_US);
  const back = await probe.ask('record', subject, 1, claim('id', 1));
  expectTold('after the end', 'yes: running 1, 1 used, 0 left, 0, 10000', back);
  await probe.ask('done', subject, 1, claim('id', 1));
  const done = await probe.ask('record', subject, 1, claim('id', 1));
  expectTold('of what is done', 'no: done 1, 1 used, 0 left, NaN, 60000', done);
}

const NOTE = '{"fingerprint":"a:b}~ \\"}';

async function keeps(probe: Probe): Promise<void> {
  const subject = probe.fresh(RULE);
  await probe.ask('take', subject, 1, claim('id', 1));
  const done = await probe.ask('done', subject, 1, claim('id', 1, NOTE));
  expectTold('done', `yes: done 1 "${NOTE}", 1 used, 0 left, 0, 60000`, done);
  const longest = `${'~'.repeat(255)} `;
  const most = await probe.ask('done', subject, 1, claim('other', 1, longest));
  expectTold('the longest note', `yes: done 1 "${longest}", 1 used, 0 left, 0, 60000`, most);
  // A client could mistake these for JSON, or for a number.
  const number = { id: 'number', owner: '12345678901234e5', note: 'null' };
  await probe.ask('done', subject, 1, { claim: number });
  const read = await probe.ask('look', subject, 1, { claim: number });
  const numbers = 'no: done 12345678901234e5 "null", 1 used, 0 left, NaN, 60000';
  expectTold('a number', numbers, read);
  const upper = { claim: { ...number, owner: number.owner.toUpperCase() } };
  expectTold('by an owner in upper case', numbers, await probe.ask('done', subject, 1, upper));
  await probe.pass(KEEP_US - 1);
  const refused = await probe.ask('take', subject, 1, claim('id', 2));
  expectTold('before the end', `no: done 1 "${NOTE}", 1 used, 0 left, NaN, 0.001`, refused);
  await probe.pass(1);
  const admitted = await probe.ask('take', subject, 1, claim('id', 2));
  expectTold('at its end', 'yes: running 2, 1 used, 0 left, 0, 10000', admitted);
}

async function marksOnce(probe: Probe): Promise<void> {
  const subject = probe.fresh(RULE);
  await probe.ask('take', subject, 1, claim('id', 1));
  const other = await probe.ask('done', subject, 1, claim('id', 2, 'b'));
  expectTold('by another', 'no: running 1, 1 used, 0 left, 10000, 10000', other);
  await probe.ask('done', subject, 1, claim('id', 1, 'a'));
  await probe.pass(1_000_000);
  const again = await probe.ask('done', subject, 1, claim('id', 1, 'later'));
  expectTold('sent again', 'yes: done 1 "a", 1 used, 0 left, 0, 59000', again);
  const late = await probe.ask('done', subject, 1, claim('id', 2, 'b'));
  expectTold('by another, of what is done', 'no: done 1 "a", 1 used, 0 left, NaN, 59000', late);
}

async function fences(probe: Probe): Promise<void> {
  const subject = probe.fresh(RULE);
  await probe.ask('take', subject, 1, claim('id', 1));
  await probe.pass(LEASE_US);
  await probe.ask('take', subject, 1, claim('id', 2));
  for (const op of ['record', 'done', 'put'] as const) {
    const late = await probe.ask(op, subject, 1, claim('id', 1, 'late'));
    expectTold(`${op} too late`, 'no: running 2, 1 used, 0 left, 10000, 10000', late);
  }
  await probe.pass(LEASE_US);
  const unused = await probe.ask('done', subject, 1, claim('id', 1, 'first'));
  expectTold('done when nobody runs it', 'yes: done 1 "first", 1 used, 0 left, 0, 60000', unused);
  const second = await probe.ask('done', subject, 1, claim('id', 2, 'second'));
  expectTold('done by the other', 'no: done 1 "first", 1 used, 0 left, NaN, 60000', second);
}

async function givesUp(probe: Probe): Promise<void> {
  const subject = probe.fresh(RULE);
  await probe.ask('take', subject, 1, claim('id', 1));
  const other = await probe.ask('put', subject, 1, claim('id', 2));
  expectTold('by another', 'no: running 1, 1 used, 0 left, 10000, 10000', other);
  const own = await probe.ask('put', subject, 1, claim('id', 1));
  expectTold('by its owner', FREE_YES, own);
  const again = await probe.ask('put', subject, 1, claim('id', 1));
  expectTold('once more', 'no: free, 0 used, 1 left, NaN, 0', again);
  await probe.ask('done', subject, 1, claim('id', 1));
  const done = await probe.ask('put', subject, 1, claim('id', 1));
  expectTold('of what is done', 'no: done 1, 1 used, 0 left, NaN, 60000', done);
  await probe.ask('take', subject, 1, claim('lapsed', 1));
  await probe.pass(LEASE_US);
  const lapsed = await probe.ask('put', subject, 1, claim('lapsed', 1));
  expectTold('after its lease', 'no: free, 0 used, 1 left, NaN, 0', lapsed);
}

async function countsApart(probe: Probe): Promise<void> {
  const subjects: Subject[] = HOSTILE_KEYS.map((key) => probe.fresh(RULE, key));
  const here = probe.fresh(RULE);
  const claims = [
    ...HOSTILE_KEYS.map((id) => [here, id] as const),
    ...subjects.map((subject) => [subject, 'id'] as const),
    // Some of the names made from one text are equal if a store joins key and id by the text's middle character, or by
    // nothing.
    ...['a b', 'a:b', 'a}b', 'a\0b'].flatMap((text) => [
      [{ ...here, key: text }, 'c'] as const,
      [{ ...here, key: 'a' }, `${text.slice(1)}c`] as const,
      [{ ...here, key: 'a' }, `b${text[1]}c`] as const,
      [{ ...here, key: '' }, `${text}c`] as const,
    ]),
  ];
  // Each take has a different owner, because the owner of a claim may take it again.
  for (const [at, [subject, id]] of claims.entries()) {
    const what = `${JSON.stringify(id).slice(0, 40)} of ${JSON.stringify(subject.key).slice(0, 40)}`;
    const first = await probe.ask('take', subject, 1, claim(id, at));
    expectEqual(`${what}: allowed`, true, first.allowed);
    const second = await probe.ask('take', subject, 1, claim(id, 1_000 + at));
    expectEqual(`${what}, by another: allowed`, false, second.allowed);
  }
}

/**
 * If the clock goes back by years, stored claims end later than any rule allows. The store must shorten them to what
 * their rule allows.
 */
async function wasAhead(probe: Probe): Promise<void> {
  const subject = probe.fresh(RULE);
  const startUs = probe.nowUs;
  await probe.at(startUs + 401 * DAY_US);
  await probe.ask('take', subject, 1, claim('runs', 1));
  await probe.ask('done', subject, 1, claim('done', 1, 'kept'));
  await probe.at(startUs + 400 * DAY_US - LEASE_US);
  const possible = await probe.ask('take', subject, 1, claim('done', 2));
  expectEqual('done, possible: rest', 86_470_000, possible.resetMs);
  const running = await probe.ask('take', subject, 1, claim('runs', 2));
  expectTold('running, a day back', 'no: running 1, 1 used, 0 left, 10000, 10000', running);
  await probe.at(startUs);
  const done = await probe.ask('take', subject, 1, claim('done', 2));
  expectTold('done, years back', 'no: done 1 "kept", 1 used, 0 left, NaN, 60000', done);
  await probe.pass(KEEP_US);
  const admitted = await probe.ask('take', subject, 1, claim('done', 2));
  expectTold('its time later', 'yes: running 2, 1 used, 0 left, 0, 10000', admitted);
}

async function looksOnly(probe: Probe): Promise<void> {
  const subject = probe.fresh(RULE);
  const startUs = probe.nowUs;
  await probe.at(startUs + 500 * DAY_US);
  await probe.ask('take', subject, 1, claim('id', 1));
  await probe.at(startUs);
  for (const op of ['look', 'record', 'done', 'put'] as const) {
    const seen = await probe.ask(op, subject, 1, claim('id', 2));
    expectTold(`${op} far back`, 'no: running 1, 1 used, 0 left, 10000, 10000', seen);
  }
  await probe.at(startUs + 500 * DAY_US);
  await probe.ask('done', subject, 1, claim('done', 1));
  await probe.at(startUs);
  for (let second = 0; second < 2; second += 1) {
    const again = await probe.ask('done', subject, 1, claim('done', 1));
    expectTold('a done sent again far back', 'yes: done 1, 1 used, 0 left, 0, 60000', again);
    await probe.pass(1_000_000);
  }
  await probe.at(startUs + 500 * DAY_US);
  const right = await probe.ask('take', subject, 1, claim('id', 2));
  expectTold('when it is right again', 'no: running 1, 1 used, 0 left, 10000, 10000', right);
}
