/** Objects that fail in the way that a limiter's name says, and a Worker whose limits are stored in them. */

import { durableObjectStore, RateLimitObject } from '@spillway/cloudflare';
import { createLimiter } from '@spillway/core';
import { makeRule } from '@spillway/core/store';

/** Has no room for texts of the limiter `full`. */
function withoutRoom(ctx) {
  const { kv } = ctx.storage;
  const put = (name, value) => {
    if (name.includes('}full}')) throw new Error('database or disk is full');
    kv.put(name, value);
  };
  return {
    blockConcurrencyWhile: (run) => ctx.blockConcurrencyWhile(run),
    storage: {
      kv: { get: (name) => kv.get(name), put, delete: (name) => kv.delete(name) },
      transactionSync: (run) => ctx.storage.transactionSync(run),
      getAlarm: () => ctx.storage.getAlarm(),
      setAlarm: (ms) => ctx.storage.setAlarm(ms),
    },
  };
}

export class Failing extends RateLimitObject {
  constructor(ctx) {
    super(withoutRoom(ctx));
    this.ctx = ctx;
  }

  async fetch(request) {
    const { steps } = await request.clone().json();
    for (const { limiter } of steps) {
      if (limiter === 'throws') throw new Error('mine');
      if (limiter === 'aborts') this.ctx.abort('mine');
      if (limiter === 'hangs') await new Promise((resolve) => setTimeout(resolve, 3_600_000));
    }
    const response = await super.fetch(request);
    if (steps[0].limiter === 'garbles') return new Response('<html>');
    return response;
  }
}

/** Another class, to which an app binds the store by mistake. */
export class Other {
  fetch() {
    return new Response('not found', { status: 404 });
  }
}

let store;
const limiters = new Map();

/** All limiters share one store, and so one breaker. */
function limiterOf(env, name) {
  store ??= durableObjectStore(env.FAILING);
  const settings = { store, storeTimeout: '500ms', onStoreError: 'deny', logger: false };
  const limiter = limiters.get(name) ?? createLimiter({ name, limit: 9, window: '1h' }, settings);
  limiters.set(name, limiter);
  return limiter;
}

/** `/apply/BINDING/limiter,limiter/key` calls the store itself, `/consume/limiter/key` a limiter that uses it. */
export default {
  async fetch(request, env) {
    const [, way, ...rest] = new URL(request.url).pathname.split('/');
    if (way === 'consume') {
      const startMs = Date.now();
      const { outcome, remaining } = await limiterOf(env, rest[0]).consume(rest[1]);
      return Response.json({ outcome, remaining, ms: Date.now() - startMs });
    }
    const [binding, limiters, key] = rest;
    const rule = makeRule('fixed-window', 9, 86_400_000_000);
    const take = { op: 'take', key, rule, cost: 1, binding: true };
    const steps = limiters.split(',').map((limiter) => ({ ...take, limiter }));
    try {
      return Response.json(await durableObjectStore(env[binding]).apply(steps));
    } catch ({ code, kind, message }) {
      return Response.json({ code, kind, message });
    }
  },
};
