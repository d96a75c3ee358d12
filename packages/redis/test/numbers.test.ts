/**
 * Commands get large numbers as texts. Redis 7.2.0 to 7.2.4 write the number 200000000 as `2e+8`, which `SET` and
 * `PEXPIRE` refuse; we have no such server, so here a script fails that passes one as a number.
 */

import type { Step } from '@spillway/core';
import { makeClaimsRule, makeLeasesRule, makeRule, makeShaperRule } from '@spillway/core/store';
import { Redis as Client } from 'ioredis';
import { type RedisServer, redisProgram, startServer } from 'spillway-testkit/redis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { asRedisClient } from '../src/clients/as-redis-client.js';
import { productionScript, scriptOf } from '../src/codec/script.js';
import { Redis } from '../src/redis-store.js';
import { take } from './steps.js';

/** Comes first in the script and replaces Redis's own functions. Scores may be written with an exponent. */
const STRICT = `
local real = redis
local function strict(run)
  return function(name, ...)
    for i = 1, select('#', ...) do
      local value = select(i, ...)
      if type(value) == 'number' and value >= 100000 and name ~= 'ZREMRANGEBYSCORE' then
        error({ err = 'ERR a number for ' .. name })
      end
    end
    return run(name, ...)
  end
end
local redis = { call = strict(real.call), pcall = strict(real.pcall) }
`;

const DAY_US = 86_400_000_000;
const lease = { id: 'a-lease', critical: false };
const claim = { id: 'an id', owner: 'aaaaaaaaaaaaaaaa' };
const RULES = {
  bucket: { rule: makeRule('token-bucket', 10, DAY_US) },
  sevenths: { rule: makeRule('token-bucket', 7, DAY_US) },
  queue: { rule: makeShaperRule(4, DAY_US, 2, DAY_US) },
  window: { rule: makeRule('fixed-window', 10, DAY_US) },
  sliding: { rule: makeRule('sliding-window-counter', 10, DAY_US) },
  log: { rule: makeRule('sliding-window-log', 10, DAY_US) },
  permits: { rule: makeLeasesRule(9, DAY_US), lease },
  claims: { rule: makeClaimsRule(DAY_US, DAY_US), claim },
};

describe.skipIf(redisProgram === null)('a command in the script gets no large number', () => {
  let server: RedisServer;
  let client: Client;
  beforeAll(async () => {
    server = await startServer();
    client = new Client(server.port);
  });
  afterAll(async () => {
    client.disconnect();
    await server.kill();
  });

  it.each(Object.entries(RULES))('for %s', async (name, one) => {
    const script = scriptOf(STRICT + productionScript().text);
    const store = new Redis(asRedisClient(client), script, { coalesce: false, logger: false });
    const step = take(name, one);
    const ask = async (...steps: Step[]) => (await store.apply(steps))[0];
    expect(await ask(step)).toMatchObject({ allowed: true });
    // Together with a step of another kind, so that the script takes no short cut.
    const other = take(`beside ${name}`);
    await ask(other, { ...step, key: `${name} 2` });
    await ask(other, { ...step, key: `${name} 2`, op: 'put' });
    await ask(other, { ...step, op: 'record' });
    if (one.rule.machine === 'queue')
      await ask({ ...step, op: 'hold', cost: 0, holdUs: 9_000_000 });
    if (one.rule.machine === 'claims') await ask({ ...step, op: 'done' });
  });
});
