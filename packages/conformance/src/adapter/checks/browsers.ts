import { claim, field } from '../assertions.js';
import { after, RATE_BY_KEY, refusedByKey } from '../policies.js';
import type { Visit } from '../visit.js';
import type { Reply } from '../wire.js';
import { type Sentence, times } from './sentence.js';

export const browsers: readonly Sentence[] = [
  ['lets pages of other origins read the headers, also of a rejection', exposes],
  ['never counts a preflight', leavesPreflights],
  ['takes no request without Origin for a preflight', countsTheRest],
];

export const ORIGIN: Readonly<Record<string, string>> = { origin: 'https://page.example' };

export function isExposed(reply: Reply, more: readonly string[] = []): void {
  const origin = field(reply, 'access-control-allow-origin');
  claim(
    origin === '*' || origin === ORIGIN['origin'],
    () => `${reply.request} (${reply.status}): Access-Control-Allow-Origin is ${origin}`,
  );
  const exposed = field(reply, 'access-control-expose-headers') ?? '';
  const names = exposed.toLowerCase().split(/\s*,\s*/);
  for (const name of ['ratelimit', 'ratelimit-policy', 'retry-after', ...more]) {
    claim(
      names.includes(name),
      () => `${reply.request} (${reply.status}): pages cannot read ${name}, only: ${exposed}`,
    );
  }
}

async function exposes(visit: Visit): Promise<void> {
  const caller = visit.caller();
  for (const index of times(5)) {
    const left = { ...after(index + 1), perKey: 4 - index };
    isExposed(await caller.passes('/things', left, { headers: ORIGIN }));
  }
  const none = refusedByKey(1, visit.settings.oneGuard);
  isExposed(await caller.refused('/things', RATE_BY_KEY, none, { headers: ORIGIN }));
}

async function leavesPreflights(visit: Visit): Promise<void> {
  const caller = visit.caller();
  const headers = {
    ...ORIGIN,
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'x-api-key',
  };
  for (const path of ['/charges', '/charges', '/things', '/']) {
    const reply = await caller.ask(path, { method: 'OPTIONS', headers });
    claim(
      reply.status === 200 || reply.status === 204,
      () => `OPTIONS ${path}: expected 200 or 204, got ${reply.status}`,
    );
    visit.showsQuotas(reply, undefined);
  }
  await caller.passes('/', after(1));
}

async function countsTheRest(visit: Visit): Promise<void> {
  const headers = { 'access-control-request-method': 'POST' };
  const reply = await visit.caller().ask('/', { method: 'OPTIONS', headers });
  // Most CORS middleware answers every OPTIONS request before any guard or handler sees it.
  const isAnswered = field(reply, 'access-control-allow-methods') !== undefined;
  if (!isAnswered && reply.status !== 400) visit.showsQuotas(reply, after(1));
}
