/**
 * The server's cost of requests with idempotency keys, sent as by a guard with three limits, on one ioredis connection.
 */

import { randomBytes, randomUUID } from 'node:crypto';
import { makeClaimsRule, makeLeasesRule, makeRule } from '@spillway/core/store';
import { redisStore } from '@spillway/redis';
import { Redis } from 'ioredis';
import { answerCalls } from '../harness/child.js';
import { makeKeys } from '../harness/keys.js';

const [port] = process.argv.slice(2);
const client = new Redis({ host: '127.0.0.1', port: Number(port) });
const stores = { single: redisStore(client, { coalesce: false }), shared: redisStore(client) };
const keys = makeKeys(1_000);
const DAY_US = 86_400_000_000;
const bucket = makeRule('token-bucket', 1_000_000, 400 * DAY_US);
const permits = makeLeasesRule(1_000_000, 60_000_000);
const claims = makeClaimsRule(30_000_000, DAY_US);
const ANSWER = Buffer.alloc(1_024, '{"charge":17,"amount":5}');
/** As long as the note of a request whose body was read. */
const NOTE = `1k ${'h'.repeat(22)} r${'b'.repeat(22)} 17`;
const done = new Map();
let asked = 0;

const step = (limiter, key, rule, more) => {
  return { op: 'take', limiter, key, rule, cost: 1, binding: true, ...more };
};
const owner = () => randomBytes(12).toString('base64url');
const limits = (key) => ['second', 'minute', 'day'].map((limiter) => step(limiter, key, bucket));
const permit = (key) => step('at-once', key, permits, { lease: { id: owner(), critical: false } });
const claim = (key, id = randomUUID()) =>
  step('once', key, claims, { claim: { id, owner: owner() } });
const ended = (one) => ({ ...one, op: 'done', claim: { ...one.claim, note: NOTE } });
const nameOf = ({ limiter, key, claim: { owner: id } }) => ({ limiter, key, id });
const putOf = (one) => ({ ...one, op: 'put' });

async function firstUse(store, own, steps, ends) {
  await store.apply([own, ...steps]);
  await store.values.set(nameOf(own), ANSWER, DAY_US);
  await store.apply([ended(own), ...ends]);
}

/** The kinds of requests. */
const kinds = {
  limits: (store, key) => store.apply(limits(key)),
  admission: (store, key) => store.apply([claim(key), ...limits(key)]),
  firstUse: (store, key) => firstUse(store, claim(key), limits(key), []),
  repeat: async (store, key) => {
    const { claim: first, ...again } = done.get(key);
    const { owner: id } = first;
    await store.apply([{ ...again, claim: { id: first.id, owner: owner() } }, ...limits(key)]);
    const bytes = await store.values.get(nameOf({ ...again, claim: { owner: id } }));
    if (bytes.length !== ANSWER.length) throw new Error('another answer');
  },
  permit: async (store, key) => {
    const own = permit(key);
    await store.apply([own, ...limits(key)]);
    await store.apply([putOf(own)]);
  },
  firstUseAndPermit: async (store, key) => {
    const own = permit(key);
    await firstUse(store, claim(key), [own, ...limits(key)], [putOf(own)]);
  },
};

/** Processor time of the server, user and system. */
async function serverUs() {
  const text = await client.info('cpu');
  const field = (name) => Number(text.match(new RegExp(`${name}:(\\S+)`))[1]);
  return (field('used_cpu_user') + field('used_cpu_sys')) * 1e6;
}

/** Stores a response for each key, and creates all counts. */
async function fill() {
  for (const key of keys) {
    const own = claim(key);
    done.set(key, own);
    await firstUse(stores.shared, own, [permit(key), ...limits(key)], []);
  }
}

/**
 * Sends `count` requests, `inFlight` at a time, with coalescing if there are several. Returns the server's CPU time per
 * request, in microseconds.
 */
async function turn(kind, count, inFlight) {
  const store = inFlight === 1 ? stores.single : stores.shared;
  const before = await serverUs();
  for (let left = count; left > 0; left -= inFlight) {
    const together = Array.from({ length: inFlight }, () => {
      asked += 1;
      return kinds[kind](store, keys[asked % keys.length]);
    });
    await Promise.all(together);
  }
  return ((await serverUs()) - before) / count;
}

answerCalls({ fill, turn });
