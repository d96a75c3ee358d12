/** The table and the handler of docs/idempotency.md charge once, also when a run is overtaken, on Postgres itself. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PGlite, types } from '@electric-sql/pglite';
import { dropIdempotencyKey } from '@spillway/core/store';
import { claimOf, idempotency, memoryStore, spillway } from '@spillway/express';
import { transform } from 'esbuild';
import express, { type ErrorRequestHandler } from 'express';
import { until } from 'spillway-testkit';
import { serveListener } from 'spillway-testkit/http';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ROOT, snippetsIn } from './snippets.js';

const PAGE = readFileSync(join(ROOT, 'docs', 'idempotency.md'), 'utf8');

interface Client {
  query(sql: string, values?: unknown[]): Promise<{ rows: unknown[]; rowCount: number }>;
}

/** The statement of the page, and its handler as a function of what it takes from its surroundings. */
async function shown() {
  const sql = /^```sql\n([\s\S]*?)^```/m.exec(PAGE)?.[1] ?? '';
  const block = snippetsIn('docs/idempotency.md', PAGE.split('\n')).find(({ code }) =>
    code.includes('insertCharge'),
  );
  const { code } = await transform(block?.code.replace(/^import .*$/m, '') ?? '', { loader: 'ts' });
  const mount = new Function('app', 'claimOf', 'transaction', 'insertCharge', code);
  return { sql, mount };
}

let database: PGlite;
beforeAll(async () => {
  database = new PGlite({ parsers: { [types.INT8]: String } }); // as node-postgres gives a bigint
  await database.exec('CREATE TABLE charges (id bigserial PRIMARY KEY, account text NOT NULL)');
  await database.exec((await shown()).sql);
});
afterAll(() => database.close());

const NAME = { limiter: 'once', scope: 'ada', key: 'order-17' };

it('charges once for a run that was overtaken, one after a crash, and repeats', async () => {
  const store = memoryStore();
  const app = express();
  app.use((req, _res, next) => {
    Object.assign(req, { user: { id: 'ada' } });
    next();
  });
  app.use(spillway(idempotency({ scope: () => 'ada' }), { store }));

  let begun = 0;
  let goOn = (): void => {};
  const held = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const transaction = async (work: (client: Client) => Promise<unknown>) => {
    begun += 1;
    if (begun === 2) await held; // the first run sleeps between its two transactions
    return database.transaction((tx) =>
      work({
        query: async (sql, values) => {
          const { rows, affectedRows = 0 } = await tx.query(sql, values);
          return { rows, rowCount: affectedRows };
        },
      }),
    );
  };
  const insertCharge = async (client: Client, account: string): Promise<string> => {
    const { rows } = await client.query('INSERT INTO charges (account) VALUES ($1) RETURNING id', [
      account,
    ]);
    return (rows[0] as { id: string }).id;
  };
  (await shown()).mount(app, claimOf, transaction, insertCharge);
  const failed: unknown[] = [];
  app.use(((error, _req, res, _next) => {
    failed.push((error as Error).message);
    res.sendStatus(500);
  }) satisfies ErrorRequestHandler);
  const { port } = await serveListener(app);
  const post = async () => {
    const headers = { 'idempotency-key': NAME.key };
    const answer = await fetch(`http://127.0.0.1:${port}/charges`, { method: 'POST', headers });
    return [answer.status, await answer.text()];
  };

  const sleeping = post();
  await until(() => begun === 2);
  await dropIdempotencyKey(store, NAME); // as when its lease ends
  const second = await post();
  expect(second[0]).toBe(201);
  goOn();
  expect((await sleeping)[0]).toBe(500);
  expect(failed).toEqual(['another run has taken over']);
  expect(await post()).toEqual(second); // the kept answer

  await dropIdempotencyKey(store, NAME); // as when a process dies before it has kept its answer
  expect(await post()).toEqual(second);
  expect((await database.query('SELECT account FROM charges')).rows).toEqual([{ account: 'ada' }]);
});
