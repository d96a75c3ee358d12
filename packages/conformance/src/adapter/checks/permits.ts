import { claim, eventually, hasStatus, same } from '../assertions.js';
import {
  after,
  CONCURRENCY,
  FULL,
  type Quotas,
  RATE_BY_ADDRESS,
  refusedInFront,
} from '../policies.js';
import type { Caller, Visit } from '../visit.js';
import type { RawConnection } from '../wire.js';
import { type Sentence, times } from './sentence.js';
import { spendAddress } from './spend.js';

export const permits: readonly Sentence[] = [
  ['rejects one request too many at once with 429', refusesOneMore],
  ['charges nothing for a rejection, whichever limit of the guard rejects', chargesNothing],
  ['holds the permit of a stream until its end, and lets it through as it is written', holds],
  ['frees the permit of a client that goes away in the middle of a stream', freesStream],
  ['frees the permits of requests that wait behind another of their connection', freesPipelined],
  ['frees the permit when the handler fails', freesFailed],
  ['counts by address where there is no key', countsByAddress],
  ['keeps keys apart, whatever characters they are made of', keepsKeysApart],
];

export const abandoned: readonly Sentence[] = [
  ['frees the permit of a client that goes away before its answer', freesWaiting],
];

/** The quotas that a request from a new address sees while `inProgress` other requests with its key are in flight. */
function beside(inProgress: number): Quotas {
  return { inFlight: 4 - inProgress, perAddress: 59 };
}

function elsewhere(visit: Visit, caller: Caller): Caller {
  return visit.caller({ key: caller.key });
}

async function isFree(visit: Visit, caller: Caller): Promise<void> {
  await eventually(() => elsewhere(visit, caller).passes('/', beside(0)));
}

async function refusesOneMore(visit: Visit): Promise<void> {
  const caller = visit.caller();
  const streams = [];
  for (const index of times(5)) {
    streams.push(await caller.streams({ inFlight: 4 - index, perAddress: 59 - index }));
  }
  await caller.refused('/', CONCURRENCY, { inFlight: 0, perAddress: 55 });
  await caller.refused('/', CONCURRENCY, { inFlight: 0, perAddress: 55 }, { method: 'HEAD' });
  streams[0]?.abort();
  await eventually(() => elsewhere(visit, caller).passes('/', beside(4)));
}

async function chargesNothing(visit: Visit): Promise<void> {
  const busy = visit.caller();
  await Promise.all(times(5).map(() => busy.streams()));
  const other = elsewhere(visit, busy);
  for (const path of ['/', '/things', '/stream']) {
    const none = { inFlight: 0, perAddress: 60 };
    const left = path === '/things' ? refusedInFront(none, visit.settings.oneGuard) : none;
    await other.refused(path, CONCURRENCY, left);
  }
  await visit.caller({ address: other.address }).passes('/things', { ...after(1), perKey: 4 });

  // Conversely, a request that the rate limit rejects takes no permit.
  const spent = visit.caller();
  await spendAddress(visit, spent.address);
  const none = { ...FULL, perAddress: 0 };
  await spent.refused('/', RATE_BY_ADDRESS, none);
  for (const _ of times(5)) await spent.refusedAgain('/', RATE_BY_ADDRESS, none);
  await elsewhere(visit, spent).passes('/', beside(0));
}

async function holds(visit: Visit): Promise<void> {
  const caller = visit.caller();
  const { reply, rest } = await caller.open('/stream?chunks=10');
  visit.showsPassed(reply, 200, after(1));
  claim(
    reply.body.startsWith('1\n') && !reply.body.includes('10'),
    () => `GET /stream: was buffered, the first part is ${JSON.stringify(reply.body)}`,
  );
  await elsewhere(visit, caller).passes('/', beside(1));
  same('GET /stream, body', await rest(), '1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n');
  await isFree(visit, caller);
}

async function freesStream(visit: Visit): Promise<void> {
  const caller = visit.caller();
  const streams = await Promise.all(times(5).map(() => caller.streams()));
  for (const stream of streams) stream.abort();
  await isFree(visit, caller);
}

async function freesWaiting(visit: Visit): Promise<void> {
  const caller = visit.caller();
  await Promise.all(times(4).map(() => abandon(visit, caller, '/charges', 'POST')));
  // When the address is charged, the requests have arrived. None of them was shed, because they are critical.
  let probes = 0;
  await eventually(() => {
    probes += 1;
    return caller.passes('/', after(4 + probes));
  });

  const other = visit.caller();
  await Promise.all(times(5).map(() => abandon(visit, other, '/stream?chunks=600', 'GET')));
  await isFree(visit, other);
}

async function abandon(visit: Visit, caller: Caller, path: string, method: string): Promise<void> {
  const request = await visit.wire.sendRequest(path, { method, headers: caller.headers });
  await new Promise<void>((resolve) => request.once('finish', () => resolve()));
  request.destroy();
}

async function freesPipelined(visit: Visit): Promise<void> {
  const caller = visit.caller();
  const fields = Object.entries({ host: visit.wire.url.host, ...caller.headers });
  const head = fields.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  const text = `GET /stream?chunks=600 HTTP/1.1\r\n${head}\r\n`.repeat(3);
  const socket = await eventually(() => unshed(visit, text));
  socket.abort();
  await isFree(visit, caller);
}

/**
 * Sends requests and waits for the first line of a stream. Throws if the worker shedder rejects a request, as on a busy
 * machine. The caller must then retry.
 */
async function unshed(visit: Visit, text: string): Promise<RawConnection> {
  const socket = await visit.wire.raw(text);
  await eventually(() => claim(/ 503 |1\n/.test(socket.received()), () => `${text}: no answer`));
  const isShed = socket.received().includes(' 503 ');
  if (isShed) socket.abort();
  claim(!isShed, () => `${text}: is shed`);
  return socket;
}

async function freesFailed(visit: Visit): Promise<void> {
  const caller = visit.caller();
  for (const reply of await Promise.all(times(5).map(() => caller.ask('/fails')))) {
    hasStatus(reply, 500);
  }
  await isFree(visit, caller);
}

async function countsByAddress(visit: Visit): Promise<void> {
  const nobody = visit.caller({ key: null });
  const { address } = nobody;
  await nobody.streams({ inFlight: 4, perAddress: 59 });
  await visit.caller({ key: '', address }).streams({ inFlight: 3, perAddress: 58 });
  await visit.caller({ key: null }).passes('/', after(1));
  await visit.caller({ address }).passes('/', after(3));
}

const ODD_KEYS = [
  '__proto__',
  'constructor',
  'a',
  'a:b',
  'A:B',
  'a%3Ab',
  '{a}:b',
  'a, b',
  'a\tb',
  '"a";r=1',
  '\u00e9',
  'x'.repeat(4_000),
  `${'x'.repeat(4_000)}y`,
];

async function keepsKeysApart(visit: Visit): Promise<void> {
  for (const key of ODD_KEYS) {
    const { reply } = await eventually(() => visit.caller({ key }).streams());
    visit.showsPassed(reply, 200, beside(0));
  }
  for (const key of ODD_KEYS) await visit.caller({ key }).passes('/', beside(1));
}
