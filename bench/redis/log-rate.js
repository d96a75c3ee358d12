/** How many events per second rolling logs count in Redis, by live entries, with one log or three per event. */

import { startChild } from '../harness/child.js';
import { inRounds } from '../harness/rounds.js';
import { ratio, spread } from '../harness/stats.js';
import { table } from '../harness/table.js';

const SIZES = [10, 1_000, 100_000];
const ROUNDS = 5;
const EVENTS = 2_000;

const KINDS = {
  spillway: 'Spillway, `sliding-window-log`',
  script: 'sorted set, one `EVALSHA`',
  multi: 'sorted set, `MULTI`; counts what it rejects too',
  flexible: '_rate-limiter-flexible: a fixed window; it has no log_',
};

export async function logRateTables(port, say) {
  const parts = [
    'Events that rolling logs count on one connection, 100 in flight, each as the oldest entry expires:',
  ];
  for (const logs of [1, 3]) parts.push(await tableOf(port, logs, say));
  return parts.join('\n\n');
}

async function tableOf(port, logs, say) {
  const columns = [];
  for (const size of SIZES) columns.push(await measure(port, logs, size, say));
  const pick = (results, kind, field) => results.get(kind).map((turn) => turn[field]);
  const rows = Object.entries(KINDS).map(([kind, title]) => [
    title,
    ...columns.flatMap((results) => [
      spread(pick(results, kind, 'rate')),
      spread(pick(results, kind, 'serverUs')),
      ratio(pick(results, kind, 'serverUs'), pick(results, 'script', 'serverUs')).toFixed(2),
    ]),
  ]);
  const head = SIZES.flatMap((size) => [
    `${size.toLocaleString('en')} entries: events/s`,
    'server CPU µs',
    '÷ sorted set',
  ]);
  const what = logs === 1 ? 'one log' : `${logs} logs, in one call`;
  return table([`An event counts in ${what}`, ...head], rows);
}

async function measure(port, logs, size, say) {
  say(`Redis, ${logs} logs of ${size} entries for each event`);
  const children = {};
  for (const kind of Object.keys(KINDS)) {
    const args = [`${port}`, kind];
    children[kind] = startChild(import.meta.url, './log-rate-worker.js', { args, core: 0 });
    await children[kind].call('fill', logs, size);
  }
  const turn = (kind) => children[kind].call('turn', EVENTS);
  const results = await inRounds(ROUNDS, Object.keys(KINDS), turn);
  for (const child of Object.values(children)) child.end();
  return results;
}
