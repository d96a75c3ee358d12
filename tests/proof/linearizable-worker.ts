/** A process that takes permits, claims and slots in a store on a real Redis, and records each call and answer. */

import { writeSync } from 'node:fs';
import type { Answer, Step } from '@spillway/core';
import { makeClaimsRule, makeLeasesRule, makeShaperRule } from '@spillway/core/store';
import { redisStore } from '@spillway/redis';
import { Redis } from 'ioredis';
import { Random } from '../../packages/conformance/src/simulator/random.js';
import { type Asked, LONGEST_US, PERIOD_US, PERMITS, PROCESSES, type Told } from './models.js';

const [url = '', name = '', rounds = '0', seed = '0'] = process.argv.slice(2);
const redis = new Redis(url);
const store = redisStore(redis, { logger: false });
const random = new Random(Number(seed));

const DAY_US = 86_400_000_000;
const RULES = {
  permits: makeLeasesRule(PERMITS, DAY_US),
  claims: makeClaimsRule(DAY_US, DAY_US),
  slots: makeShaperRule(1, PERIOD_US, 1, LONGEST_US),
};

/** The clock that all processes of a machine share. */
const nowUs = (): number => Number(process.hrtime.bigint() / 1_000n);

function stepOf(kind: keyof typeof RULES, key: string, { op, id }: Asked): Step {
  const rule = RULES[kind];
  const base = { op, limiter: kind, rule, cost: 1, binding: true };
  if (kind === 'permits') return { ...base, key, lease: { id, critical: false } };
  if (kind === 'slots') return { ...base, key };
  return { ...base, key: 'ada', claim: { id: key, owner: id } };
}

let calls = 0;
async function ask(kind: keyof typeof RULES, key: string, input: Asked): Promise<boolean> {
  calls += 1;
  const call = `${name}-${calls}`;
  const write = (event: object): void =>
    void writeSync(1, `${JSON.stringify({ call, ...event })}\n`);
  write({ kind, key, input, atUs: nowUs() });
  const [answer] = (await store.apply([stepOf(kind, key, input)])) as readonly [Answer];
  const tatUs = 'tatUs' in answer ? answer.tatUs : 0;
  const output: Told = { allowed: answer.allowed, nowUs: answer.nowUs, tatUs };
  write({ output, atUs: nowUs() });
  return answer.allowed;
}

async function act(round: number): Promise<void> {
  const id = `${name}${round}`.padEnd(16, '_');
  const key = `key-${Math.floor(round / 12)}`;
  const kind = random.pick(['permits', 'permits', 'claims', 'slots'] as const);
  const isMine = await ask(kind, key, { op: 'take', id });
  if (kind === 'permits' && isMine) {
    await redis.ping();
    await ask(kind, key, { op: 'put', id });
    if (random.chance(0.3)) await ask(kind, key, { op: 'put', id });
  }
  if (kind === 'claims') {
    const op = random.pick(['done', 'put', 'put', 'take'] as const);
    if (isMine || random.chance(0.5)) await ask(kind, key, { op, id });
  }
}

// All begin together.
await redis.incr('ready');
while (Number(await redis.get('ready')) < PROCESSES) await redis.ping();
for (let round = 0; round < Number(rounds); round += 1) {
  // Three at a time.
  await Promise.all([act(3 * round), act(3 * round + 1), act(3 * round + 2)]);
}
redis.disconnect();
