/** Objects that report what the platform would bill, and what is stored. */

import { RateLimitObject } from '@spillway/cloudflare';

/**
 * Passes on what a `RateLimitObject` does with its state, and counts what is billed: each row, and each alarm that is
 * set.
 */
function billed(ctx, bill, alarmAt) {
  const { storage } = ctx;
  const { kv } = storage;
  return {
    blockConcurrencyWhile: (run) => ctx.blockConcurrencyWhile(run),
    storage: {
      kv: {
        get: (name) => {
          bill.read += 1;
          return kv.get(name);
        },
        put: (name, value) => {
          bill.written += 1;
          kv.put(name, value);
        },
        delete: (name) => {
          bill.written += 1;
          return kv.delete(name);
        },
        list: (options) => {
          const rows = [...kv.list(options)];
          bill.read += rows.length;
          return rows;
        },
      },
      transactionSync: (run) => storage.transactionSync(run),
      getAlarm: () => storage.getAlarm(),
      deleteAll: () => storage.deleteAll(),
      setAlarm: (ms) => {
        bill.written += 1;
        bill.alarms += 1;
        return storage.setAlarm(alarmAt(ms));
      },
    },
  };
}

/** Its alarm is set at most every three seconds, instead of every ten minutes. */
export class Billed extends RateLimitObject {
  constructor(ctx) {
    const bill = { requests: 0, read: 0, written: 0, alarms: 0, woken: 0 };
    super(billed(ctx, bill, (ms) => ms - 597_000));
    this.bill = bill;
    this.ctx = ctx;
  }

  async fetch(request) {
    const { storage } = this.ctx;
    if (request.method === 'GET') {
      const rows = [...storage.kv.list()].map(([name]) => name);
      return Response.json({ ...this.bill, rows, alarm: await storage.getAlarm() });
    }
    this.bill.requests += 1;
    return super.fetch(request);
  }

  alarm() {
    this.bill.woken += 1;
    return super.alarm();
  }
}

export default {
  fetch(request, env) {
    const [, binding, name] = new URL(request.url).pathname.split('/');
    const namespace = env[binding];
    return namespace.get(namespace.idFromName(name)).fetch(request);
  },
};
