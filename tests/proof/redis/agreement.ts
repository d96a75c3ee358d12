/** Runs every script on a real Redis and on the model, and compares what they reply. */

import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { storeConformance } from '@spillway/conformance';
import { ManualClock } from '@spillway/core/testing';
import { type RedisClient, redisControl } from '@spillway/redis';
import { redisStoreAt } from '@spillway/redis/testing';
import type { Redis } from 'ioredis';
import { Random } from '../../../packages/conformance/src/simulator/random.js';
import { ModelRedis } from './model-redis.js';
import { timeWords, toldTime } from './told-time.js';

/** A client whose calls both servers answer; the real one's reply is the reply. */
class Both implements RedisClient {
  readonly state = 'ready';
  /** How many steps both have decided. */
  steps = 0;
  /** Their first disagreement. */
  difference: string | undefined;
  private readonly texts = new Map<string, string>();
  private readonly model = new ModelRedis();
  private readonly real: Redis;

  constructor(real: Redis) {
    this.real = real;
  }

  evalsha(sha: string, keys: string[], args: string[]): Promise<unknown> {
    const text = this.texts.get(sha);
    if (text === undefined) return Promise.reject(new Error('NOSCRIPT'));
    return this.ask(text, keys, args);
  }

  eval(text: string, keys: string[], args: string[]): Promise<unknown> {
    this.texts.set(createHash('sha1').update(text).digest('hex'), text);
    return this.ask(text, keys, args);
  }

  onceChanged(): () => void {
    return () => undefined;
  }

  async flush(): Promise<void> {
    await this.real.flushdb();
    this.model.db.keys.clear();
  }

  private async ask(text: string, keys: string[], args: string[]): Promise<unknown> {
    this.steps += keys.length;
    const nowUs = Date.now() * 1_000;
    const script = toldTime(text);
    const words = [...args, ...timeWords(nowUs)];
    const real = this.real.eval(script, keys.length, ...keys, ...words).catch(String);
    // Both decide in the order of the calls, because the call to the real one was already written.
    const got = outcome(() => this.model.eval(script, keys, words.map(bytes), nowUs));
    const expected = await real;
    if (!isDeepStrictEqual(unordered(got), unordered(expected))) {
      const told = [got, expected, keys, args].map((one) => JSON.stringify(one));
      this.difference ??= `the model replied ${told[0]}, Redis ${told[1]}, to ${told[2]} ${told[3]}`;
    }
    return expected;
  }
}

const bytes = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');

/** A reply in the form in which the client passes it to the store. */
function decoded(reply: unknown): unknown {
  if (Array.isArray(reply)) return reply.map(decoded);
  return typeof reply === 'string' ? Buffer.from(reply, 'latin1').toString('utf8') : reply;
}

/** Without what has no order: the members of JSON that Lua wrote, and the fields of a hash. */
function unordered(reply: unknown): unknown {
  if (typeof reply === 'string' && reply.startsWith('1 {')) return JSON.parse(reply.slice(2));
  if (!Array.isArray(reply)) return reply;
  const hasFields = reply.some((one) => typeof one === 'string' && /^1 \d/.test(one));
  return hasFields ? reply.map(String).sort() : reply.map(unordered);
}

function outcome(model: () => unknown): unknown {
  try {
    return decoded(model());
  } catch (error) {
    return `ReplyError: ${(error as Error).message}`;
  }
}

/** Changes live settings in all ways, and reads them back. */
async function changeSettings(client: Both, random: Random): Promise<void> {
  const control = redisControl(client, { onFault: () => undefined });
  const note = { by: 'ada', because: 'to "compare" \\ / two servers é', for: '1h' } as const;
  const name = (): string => random.pick(['api', 'login', '*', 'jobs']);
  const key = (): string => random.pick(['ada', 'bob', '@203.0.113.7', 'é {x}']);
  for (let n = 0; n < 40; n += 1) {
    const change = random.pick([
      () => control.set(name(), { mode: random.pick(['shadow', 'off', 'enforce']) }, note),
      () => control.set(name(), { share: random.uniform(), limits: { factor: 1.5 } }, note),
      () => control.clear(name(), note),
      () => control.block(name(), key(), note),
      () => control.allow(name(), key(), { ...note, for: 'forever' }),
      () => control.limitKey(name(), key(), { factor: random.between(1, 9) / 4 }, note),
      () => control.clearKey(name(), key(), note),
      () => control.forget(name(), key(), note),
      () => control.history(),
      () => control.list(),
      () => control.limiters(),
      () => control.followers(),
      () => control.restore(note),
    ]);
    await Promise.resolve(change()).catch(() => undefined);
  }
  control.close();
}

/**
 * Runs the conformance suite with one seed after another until `steps` steps have been decided twice.
 *
 * @throws Error that shows the first difference, or what the suite found
 */
export async function agree(real: Redis, steps: number, seed: number): Promise<number> {
  const client = new Both(real);
  for (let run = seed; client.steps < steps; run += 1) {
    await client.flush();
    await changeSettings(client, new Random(run));
    if (client.difference) throw new Error(`live settings (seed ${run}): ${client.difference}`);
    const open = async () => {
      await client.flush();
      const clock = new ManualClock();
      return { store: redisStoreAt(client, clock), setTimeUs: (us: number) => clock.setUs(us) };
    };
    for (const check of storeConformance({ open }, { runs: 200, seed: run })) {
      await check.run();
      if (client.difference) throw new Error(`${check.name} (seed ${run}): ${client.difference}`);
      if (client.steps >= steps) break;
    }
  }
  return client.steps;
}
