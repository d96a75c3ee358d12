/** Ten minutes of traffic: usual, one caller too fast, Redis away, a flood of new addresses, an overload. */

import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

const agent = new http.Agent({ keepAlive: true });

/**
 * Sends a request every `1 / rate` seconds, regardless of earlier ones, to the ports in turn. `make` returns the n-th.
 */
async function send(ports, rate, seconds, make) {
  const startMs = performance.now();
  for (let n = 0; n < rate * seconds; n += 1) {
    await sleep(Math.max(0, startMs + (n * 1_000) / rate - performance.now()));
    const { method = 'GET', path, headers, body } = make(n);
    const own = { 'x-api-key': `account-${n % 20}`, ...headers };
    const request = http.request({
      port: ports[n % ports.length],
      agent,
      method,
      path,
      headers: body === undefined ? own : { ...own, 'content-type': 'application/json' },
    });
    request.on('response', (response) => response.resume());
    request.on('error', () => undefined);
    request.end(body);
  }
}

const charge = (key, amount) => ({
  method: 'POST',
  path: '/charges',
  headers: { 'idempotency-key': key, 'x-api-key': 'shop' },
  body: JSON.stringify({ amount }),
});
const from = (address) => ({ path: '/pages', headers: { 'x-forwarded-for': address } });

const KINDS = {
  things: () => ({ path: '/things' }),
  /** Each tenth is a repeat of one 3 s before. */
  charges: (n) => charge(`order-${n % 10 === 9 ? n - 31 : n}`, 1),
  /** Each third has the key of another charge. */
  misused: (n) => charge(`bill-${n % 3 === 2 ? n - 2 : n}`, n),
  logins: () => ({ method: 'POST', path: '/login' }),
  pages: (n) => from(`198.51.100.${n % 200}`),
  tenants: (n) => ({ path: '/tenants', headers: n % 50 === 0 ? {} : { 'x-tenant': `t-${n % 9}` } }),
  greedy: () => ({ path: '/things', headers: { 'x-api-key': 'greedy' } }),
  strangers: (n) => from(`10.${n % 250}.${Math.floor(n / 250)}.1`),
  streams: () => ({ path: '/stream' }),
  reports: () => ({ path: '/report' }),
  posts: () => ({ method: 'POST', path: '/report' }),
  tests: () => ({ path: '/report', headers: { 'x-test': '1' } }),
};

/** Requests a second to both processes together, from one second to another. */
export const STORY = [
  ['things', 40, 0, 600],
  ['charges', 10, 0, 600],
  ['logins', 4, 0, 600],
  ['pages', 20, 0, 600],
  ['tenants', 10, 0, 600],
  ['greedy', 30, 60, 150],
  ['misused', 10, 60, 150],
  ['streams', 9, 290, 380],
  ['strangers', 60, 290, 380],
  ['reports', 60, 420, 510],
  ['posts', 20, 420, 510],
  ['tests', 20, 420, 510],
];
/** Warms up the processes, without charges, whose keys would be known later. */
export const WARM_UP = [
  ['things', 40, 0, 30],
  ['logins', 4, 0, 30],
  ['tenants', 10, 0, 30],
];
const REDIS_AWAY = [200, 260];
export const SECONDS = 600;

/** Resolves when all traffic has been sent. */
export async function traffic(ports, redis, story) {
  const away = async ([begin, end]) => {
    await sleep(begin * 1_000);
    redis.kill('SIGSTOP');
    await sleep((end - begin) * 1_000);
    redis.kill('SIGCONT');
  };
  const run = async ([kind, rate, begin, end]) => {
    await sleep(begin * 1_000);
    await send(ports, rate, end - begin, KINDS[kind]);
  };
  const outages = story === STORY ? [away(REDIS_AWAY)] : [];
  await Promise.all([...story.map(run), ...outages]);
}
