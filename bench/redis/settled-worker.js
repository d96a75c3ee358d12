/** Whole requests through guards, one at a time: with a permit, with a meter, and with both. */

import { concurrencyLimit, createGuard, meter, rateLimit } from '@spillway/core';
import { redisStore } from '@spillway/redis';
import { Redis } from 'ioredis';
import { answerCalls } from '../harness/child.js';
import { makeKeys } from '../harness/keys.js';

const [port] = process.argv.slice(2);
const client = new Redis({ host: '127.0.0.1', port: Number(port) });
const store = redisStore(client);
const keys = makeKeys(1_000);
const rows = meter({ reserve: () => 40 });
const key = ({ raw }) => raw.key;

const permit = concurrencyLimit({ name: 'in-flight', limit: 1_000, key });
const rate = { limit: 1_000_000, window: '1h', key };
const plain = rateLimit({ ...rate, name: 'plain' });
const metered = rateLimit({ ...rate, name: 'metered', cost: rows.cost((count) => count) });

/** The limits of a request, and the units that it settles. */
const kinds = {
  permit: { limits: [permit] },
  plain: { limits: [plain, permit] },
  down: { limits: [metered, permit], units: 10 },
  up: { limits: [metered, permit], units: 70 },
  alone: { limits: [metered], units: 10 },
};
for (const kind of Object.values(kinds)) {
  kind.guard = createGuard(kind.limits, { store, storeTimeout: '10s', logger: false });
}
let asked = 0;

/** The time spent inside scripts, as the server counts it. */
async function scriptUs() {
  const text = await client.info('commandstats');
  return Number(text.match(/cmdstat_evalsha:calls=\d+,usec=(\d+)/)?.[1] ?? 0);
}

async function requests(kind, count) {
  const { guard, units } = kinds[kind];
  const before = await scriptUs();
  for (let done = 0; done < count; done += 1) {
    asked += 1;
    const request = {
      method: 'GET',
      path: '/',
      clientIp: '192.0.2.1',
      header: () => undefined,
      raw: { key: keys[asked % keys.length] },
    };
    const admission = await guard.admit(request);
    if (units !== undefined) rows.of(admission).settle(units);
    await admission.release({ status: 200 });
  }
  return { scriptUs: ((await scriptUs()) - before) / count };
}

answerCalls({ requests });
