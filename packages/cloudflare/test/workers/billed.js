/** Objects that tell what the platform would bill, and what is stored. */

import { RateLimitObject } from '@spillway/cloudflare';

/** Hands on what a `RateLimitObject` uses of its state, and counts what is billed. */
function billed(ctx, bill, alarmAt = (ms) => ms) {
  const { storage } = ctx;
  const exec = (query, ...bindings) => {
    const rows = storage.sql.exec(query, ...bindings);
    const all = rows.toArray();
    bill.read += rows.rowsRead;
    bill.written += rows.rowsWritten;
    return { toArray: () => all };
  };
  return {
    blockConcurrencyWhile: (run) => ctx.blockConcurrencyWhile(run),
    storage: {
      sql: { exec },
      transactionSync: (run) => storage.transactionSync(run),
      getAlarm: () => storage.getAlarm(),
      deleteAll: () => storage.deleteAll(),
      setAlarm: (ms) => {
        bill.alarms += 1;
        return storage.setAlarm(alarmAt(ms));
      },
    },
  };
}

/** Its alarm is set at most each three seconds, and not each ten minutes. */
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
      const tables = storage.sql.exec("SELECT name FROM sqlite_master WHERE name = 'texts'");
      const stored = tables.toArray().length > 0;
      const rows = stored ? storage.sql.exec('SELECT * FROM texts').toArray() : undefined;
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
