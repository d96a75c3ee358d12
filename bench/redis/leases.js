/** Permits in Redis: three stored rules in one call, and the one key that a whole fleet shares. */

import { startChild } from '../harness/child.js';
import { inRounds } from '../harness/rounds.js';
import { digits, ratio, spread } from '../harness/stats.js';
import { table } from '../harness/table.js';
import { judged } from '../harness/targets.js';

const ROUNDS = 7;
const KINDS = {
  bucket: '_bare script: one token bucket_',
  concurrency: 'a concurrency limit',
  fleet: 'a fleet shedder',
  three: 'all three, in one call',
};
const TARGETS = {
  serverUs: ['Redis, three stored rules in one call: server CPU ÷ one token bucket', '<=', 3.5],
};

export async function leaseTables(port, say) {
  say('Redis, permits');
  const child = startChild(import.meta.url, './leases-worker.js', { args: [`${port}`], core: 0 });
  await child.call('fill', 0);
  const names = Object.keys(KINDS);
  for (const name of names) await child.call('oneByOne', name, 2_000); // to warm up
  const results = await inRounds(ROUNDS, names, (name) => child.call('oneByOne', name, 2_000));
  const pick = (name, field) => results.get(name).map((turn) => turn[field]);
  const rows = names.map((name) => {
    const shareOf = (field) => ratio(pick(name, field), pick('bucket', field));
    return [
      KINDS[name],
      spread(pick(name, 'serverUs')),
      judged(shareOf('serverUs'), name === 'three' ? TARGETS.serverUs : undefined),
      spread(pick(name, 'scriptUs')),
      digits(shareOf('scriptUs')),
      spread(pick(name, 'p50Us')),
      digits(shareOf('p50Us')),
      name === 'bucket' ? '–' : spread(pick(name, 'releaseUs')),
    ];
  });
  const share = '÷ bare script';
  const release = 'release, coalesced: server CPU µs';
  const head = ['server CPU µs', share, 'of it in the script', share, 'p50 µs', share, release];
  const parts = [
    'Permits, one request at a time (`coalesce: false`), released together afterwards:',
    table(['Guarded by', ...head], rows),
    await hotKeyTable(child, say),
  ];
  child.end();
  return parts.join('\n\n');
}

async function hotKeyTable(child, say) {
  const rows = [];
  for (const size of [0, 100, 1_000, 10_000]) {
    say(`Redis, a fleet with ${size} in progress`);
    const bytes = await child.call('fill', size);
    await child.call('hotKey', 2_000);
    const turns = [];
    for (let round = 0; round < ROUNDS; round += 1) turns.push(await child.call('hotKey', 2_000));
    const cost = turns.map(({ serverUs }) => serverUs);
    rows.push([`${size}`, spread(cost), size === 0 ? '–' : digits(bytes / size)]);
  }
  const head = ['In progress in the fleet', 'admit and release: server CPU µs', 'bytes a permit'];
  return `The one key of a fleet, 100 requests at a time, coalesced:\n\n${table(head, rows)}`;
}
