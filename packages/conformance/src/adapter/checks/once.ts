import { claim, eventually, field, hasFields, hasStatus, same } from '../assertions.js';
import { after, FULL, RATE_BY_ADDRESS } from '../policies.js';
import type { Caller, Visit } from '../visit.js';
import type { Ask, Reply } from '../wire.js';
import { isExposed, ORIGIN } from './browsers.js';
import { type Sentence, times } from './sentence.js';
import { spendAddress } from './spend.js';

export const once: readonly Sentence[] = [
  ['replays the first response to a retry, and charges nothing', repeats],
  ['answers 409 to a retry while the first request is running', refusesWhileRunning],
  ['answers 422 if a key is used for another request', refusesOthers],
  ['answers 400 to an invalid key', refusesNoKeys],
  ['runs every request without a key', runsWithoutKey],
  ['keeps the keys of different callers apart', keepsCallersApart],
  ['frees the key of a request that a limit rejects', givesUpRefused],
  ['stores the 500 of a failing handler', keepsErrors],
  ['tells a retry that the response was too long to be stored', tellsTooLong],
  ['replays the whole of a streamed response', repeatsStreams],
];

export const onceAbandoned: readonly Sentence[] = [
  ['stores the response even if the client goes away before it', keepsForTheGone],
];

/** A replay must have the same values of these headers as the first response. Its other headers may differ. */
const KEPT = ['content-type', 'content-encoding', 'location', 'etag'];

function newKey(): string {
  return `once-${crypto.randomUUID()}`;
}

function charge(key: string, body = '{"amount":10}', headers: Ask['headers'] = {}): Ask {
  const own = { 'idempotency-key': key, 'content-type': 'application/json' };
  const length = { 'content-length': String(body.length) };
  return { method: 'POST', headers: { ...own, ...length, ...headers }, body };
}

function isRepeat(reply: Reply): boolean {
  return field(reply, 'idempotency-replayed') === 'true';
}

/** Repeats a request until the reply is a replay. Some services send their first response before they store it. */
function untilRepeated(caller: Caller, path: string, ask: Ask): Promise<Reply> {
  return eventually(async () => {
    const reply = await caller.ask(path, ask);
    claim(
      isRepeat(reply),
      () => `${reply.request} (${reply.status}): is not a replay: ${reply.body}`,
    );
    return reply;
  });
}

function isProblem(reply: Reply, status: number): void {
  hasStatus(reply, status);
  hasFields(reply, {
    'content-type': 'application/problem+json',
    'cache-control': 'no-store',
    'idempotency-replayed': undefined,
  });
  same(`${reply.request}, body`, (JSON.parse(reply.body) as { status: unknown }).status, status);
}

async function repeats(visit: Visit): Promise<void> {
  const caller = visit.caller();
  const ask = charge(newKey(), undefined, ORIGIN);
  const first = await caller.passes('/charges', after(1), ask, 201);
  claim(!isRepeat(first), () => 'POST /charges: the first response is marked as a replay');
  for (const _ of times(2)) {
    const again = await eventually(async () => {
      const reply = await untilRepeated(caller, '/charges', ask);
      visit.showsQuotas(reply, { ...FULL, perAddress: 59 });
      return reply;
    });
    hasStatus(again, 201);
    same('POST /charges, body of a replay', again.body, first.body);
    for (const name of KEPT) hasFields(again, { [name]: field(first, name) });
    isExposed(again, ['idempotency-replayed']);
  }
}

async function refusesWhileRunning(visit: Visit): Promise<void> {
  const caller = visit.caller();
  const ask = charge(newKey());
  const first = caller.ask('/charges?ms=1000', ask);
  await eventually(async () => {
    const meanwhile = await caller.ask('/charges?ms=1000', ask);
    isProblem(meanwhile, 409);
    const wait = field(meanwhile, 'retry-after') ?? '';
    claim(/^[1-9]\d*$/.test(wait), () => `POST /charges: expected Retry-After, got ${wait}`);
  });
  const { body, status } = await first;
  same('POST /charges, status of the first request', status, 201);
  same('body of a replay', (await untilRepeated(caller, '/charges?ms=1000', ask)).body, body);
}

async function refusesOthers(visit: Visit): Promise<void> {
  const caller = visit.caller();
  const key = newKey();
  await caller.ask('/charges', charge(key, '{"amount":10}'));
  await untilRepeated(caller, '/charges', charge(key, '{"amount":10}'));
  isProblem(await caller.ask('/charges', charge(key, '{"amount":99}')), 422);
  isProblem(await caller.ask('/charges?ms=1', charge(key, '{"amount":10}')), 422);
  isProblem(await caller.ask('/fails', charge(key, '{"amount":10}')), 422);
  await untilRepeated(caller, '/charges', charge(key, '{"amount":10}'));
}

async function refusesNoKeys(visit: Visit): Promise<void> {
  const caller = visit.caller();
  for (const key of ['""', '"open', 'a b', 'a, b', 'a'.repeat(256)]) {
    isProblem(await caller.ask('/charges', charge(key)), 400);
  }
  await caller.passes('/charges', after(1), charge(`"${newKey()} of a string"`), 201);
}

async function runsWithoutKey(visit: Visit): Promise<void> {
  const caller = visit.caller();
  const bodies = [];
  for (const index of times(2)) {
    const { 'idempotency-key': _, ...headers } = charge('').headers ?? {};
    const ask = { ...charge(''), headers };
    bodies.push((await caller.passes('/charges', after(index + 1), ask, 201)).body);
  }
  claim(bodies[0] !== bodies[1], () => 'POST /charges: two charges without a key ran once');
}

async function keepsCallersApart(visit: Visit): Promise<void> {
  const ask = charge(newKey());
  const one = visit.caller();
  const first = await one.ask('/charges', ask);
  await untilRepeated(one, '/charges', ask);
  const other = await visit.caller().passes('/charges', after(1), ask, 201);
  claim(other.body !== first.body, () => 'POST /charges: one caller got the response of another');
}

async function givesUpRefused(visit: Visit): Promise<void> {
  const caller = visit.caller();
  await spendAddress(visit, caller.address);
  const ask = charge(newKey());
  const refused = await caller.ask('/charges', ask);
  hasStatus(refused, RATE_BY_ADDRESS.status);
  const elsewhere = visit.caller({ key: caller.key });
  const first = await elsewhere.passes('/charges', after(1), ask, 201);
  claim(!isRepeat(first), () => 'POST /charges: a rejection was stored');
}

async function keepsErrors(visit: Visit): Promise<void> {
  const caller = visit.caller();
  const ask = charge(newKey());
  const first = await caller.ask('/fails', ask);
  hasStatus(first, 500);
  const again = await untilRepeated(caller, '/fails', ask);
  hasStatus(again, 500);
  same('POST /fails, body of a replay', again.body, first.body);
}

async function tellsTooLong(visit: Visit): Promise<void> {
  const caller = visit.caller();
  const ask = charge(newKey(), JSON.stringify({ amount: 10, note: 'n'.repeat(70_000) }));
  hasStatus(await caller.ask('/charges', ask), 201);
  await eventually(async () => {
    const again = await caller.ask('/charges', ask);
    isProblem(again, 409);
    hasFields(again, { 'retry-after': undefined }); // otherwise the first request is still running
  });
}

async function repeatsStreams(visit: Visit): Promise<void> {
  const caller = visit.caller();
  const ask = charge(newKey());
  const first = await caller.ask('/stream?chunks=3', ask);
  same('POST /stream, body', first.body, '1\n2\n3\n');
  const again = await untilRepeated(caller, '/stream?chunks=3', ask);
  same('POST /stream, body of a replay', again.body, first.body);
}

async function keepsForTheGone(visit: Visit): Promise<void> {
  const caller = visit.caller();
  const ask = charge(newKey());
  const headers = { ...caller.headers, ...ask.headers };
  const request = await visit.wire.sendRequest('/charges?ms=700', { ...ask, headers });
  await eventually(async () => isProblem(await caller.ask('/charges?ms=700', ask), 409));
  request.destroy();
  const again = await untilRepeated(caller, '/charges?ms=700', ask);
  hasStatus(again, 201);
}
