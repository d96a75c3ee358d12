import { claim, field, hasFields, hasStatus, same } from '../assertions.js';
import {
  after,
  FULL,
  RATE_BY_ADDRESS,
  RATE_BY_KEY,
  refusedByKey,
  refusedInFront,
} from '../policies.js';
import type { Visit } from '../visit.js';
import type { Reply } from '../wire.js';
import { type Sentence, times } from './sentence.js';
import { spendAddress, spendKey } from './spend.js';

export const answers: readonly Sentence[] = [
  ['answers with what the route answers, and the headers of every limit', answersOfRoutes],
  ['counts down one by one, and tells handlers the same number', countsDown],
  [
    'rejects the first request over the limit with 429, every header and the problem document',
    refuses,
  ],
  ['stops at the guard that rejects', stopsAtTheFirst],
  ['answers HEAD as GET, without a body', answersHead],
  ['shows nothing of a limit in shadow mode, and never rejects for it', hidesShadow],
  ['does not count what is skipped', skips],
  ['leaves the 500 of a failing handler as it is, with the headers', leavesErrors],
  ['keeps the connection in order when it rejects a request with a body', keepsConnection],
];

async function answersOfRoutes(visit: Visit): Promise<void> {
  const home = await visit.caller().passes('/', after(1));
  same('GET /, body', home.body, 'Hello from behind a spillway.\n');
  hasType(home, 'text/plain');

  const things = await visit.caller().passes('/things', { ...after(1), perKey: 4 });
  same('GET /things, body', things.body, '{"things":["a dam","a gate"],"remaining":4}');
  hasType(things, 'application/json');

  const charge = await visit.caller().passes('/charges', after(1), { method: 'POST' }, 201);
  isCharge(charge);
  hasType(charge, 'application/json');

  const report = await visit.caller().passes('/report?ms=1', after(1));
  same('GET /report, body', report.body, 'done\n');
}

export function isCharge({ body }: Reply): void {
  claim(/^\{"charged":true,"id":"[^"]{8,}"/.test(body), () => `POST /charges, body: ${body}`);
}

async function countsDown(visit: Visit): Promise<void> {
  const caller = visit.caller();
  for (const index of times(5)) {
    const left = 4 - index;
    const reply = await caller.passes('/things', { ...after(index + 1), perKey: left });
    same(
      'remaining in the body',
      (JSON.parse(reply.body) as { remaining: unknown }).remaining,
      left,
    );
  }
}

async function refuses(visit: Visit): Promise<void> {
  const caller = visit.caller();
  await spendKey(caller);
  await caller.refused('/things', RATE_BY_KEY, refusedByKey(1, visit.settings.oneGuard));
}

async function stopsAtTheFirst(visit: Visit): Promise<void> {
  const caller = visit.caller();
  await spendAddress(visit, caller.address);
  const none = { ...FULL, perAddress: 0 };
  await caller.refused('/', RATE_BY_ADDRESS, none);
  for (const path of ['/things', '/charges', '/stream']) {
    const method = path === '/charges' ? 'POST' : 'GET';
    const left = path === '/things' ? refusedInFront(none, visit.settings.oneGuard) : none;
    await caller.refusedAgain(path, RATE_BY_ADDRESS, left, { method });
  }
  // A request that a limit for all routes rejects charges no limit of its route.
  const elsewhere = visit.caller({ key: caller.key });
  await elsewhere.passes('/things', { ...after(1), perKey: 4 });
}

async function answersHead(visit: Visit): Promise<void> {
  const caller = visit.caller();
  const reply = await caller.passes('/', after(1), { method: 'HEAD' });
  same('HEAD /, body', reply.body, '');

  const other = visit.caller();
  await spendKey(other);
  const quotas = refusedByKey(1, visit.settings.oneGuard);
  await other.refused('/things', RATE_BY_KEY, quotas, { method: 'HEAD' });
}

async function hidesShadow(visit: Visit): Promise<void> {
  const caller = visit.caller();
  for (const index of times(3)) {
    const reply = await caller.passes('/', after(index + 1));
    const text = JSON.stringify([reply.lines, reply.body]);
    claim(!text.includes('trial'), () => `GET /: shows the limit in shadow: ${text}`);
  }
}

async function skips(visit: Visit): Promise<void> {
  const caller = visit.caller();
  for (const _ of times(65)) {
    const reply = await caller.ask('/health');
    hasStatus(reply, 200);
    same('GET /health, body', reply.body, 'ok\n');
    visit.showsQuotas(reply, undefined);
  }
  await caller.passes('/', after(1));
}

async function leavesErrors(visit: Visit): Promise<void> {
  const caller = visit.caller();
  for (const index of times(6)) {
    const reply = await caller.ask('/fails');
    hasStatus(reply, 500);
    visit.showsQuotas(reply, after(index + 1));
    hasFields(reply, { 'retry-after': undefined });
    const isProblem = field(reply, 'content-type')?.includes('problem') ?? false;
    claim(!isProblem, () => `GET /fails: is answered as a rejection: ${reply.body}`);
  }
}

/**
 * After a rejected POST, the next request on the connection must get its reply, unless the platform closes the
 * connection.
 */
async function keepsConnection(visit: Visit): Promise<void> {
  const caller = visit.caller();
  await spendAddress(visit, caller.address);
  const fields = Object.entries({ host: visit.wire.url.host, ...caller.headers });
  const head = fields.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  const body = '{"a":1}';
  const socket = await visit.wire.raw(
    `POST /charges HTTP/1.1\r\n${head}content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}` +
      `GET /health HTTP/1.1\r\nhost: ${visit.wire.url.host}\r\nconnection: close\r\n\r\n`,
  );
  await socket.ended();
  const statuses = [...socket.received().matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, code]) => code);
  const expected = statuses.length === 1 ? ['429'] : ['429', '200'];
  same('statuses of a rejected POST and of the next request', statuses, expected);
}

function hasType(reply: Reply, type: string): void {
  const actual = field(reply, 'content-type');
  claim(
    actual?.split(';')[0] === type,
    () => `${reply.request}: expected Content-Type ${type}, got ${actual}`,
  );
}
