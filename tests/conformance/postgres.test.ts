/** The store of examples/store-postgres on PGlite, which is Postgres itself, compiled to WebAssembly. */

import { readFileSync } from 'node:fs';
import { PGlite } from '@electric-sql/pglite';
import { storeConformance } from '@spillway/conformance';
import { createLimiter } from '@spillway/core';
import { makeRule, stateStore } from '@spillway/core/store';
import { ManualClock } from '@spillway/core/testing';
import {
  CLEAN,
  type Connection,
  type Database,
  fromPool,
  postgresBackend,
  postgresStore,
  TABLE,
} from 'example-store-postgres';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';

let pglite: PGlite;
beforeAll(async () => {
  pglite = new PGlite();
  await pglite.exec(TABLE);
});
beforeEach(() => pglite.exec('TRUNCATE spillway_counts'));
afterAll(() => pglite.close());

describe('the store on Postgres', () => {
  const open = async () => {
    await pglite.exec('TRUNCATE spillway_counts');
    const clock = new ManualClock();
    const backend = postgresBackend(pglite);
    const store = stateStore({
      ...backend,
      testClock: clock,
      transact: (names, decide) => backend.transact(names, (texts) => decide(texts, clock.nowUs())),
    });
    return { store, setTimeUs: (us: number) => clock.setUs(us) };
  };
  for (const { name, run } of storeConformance({ open }, { runs: 1 })) it(name, run);
});

it('is at most 40 lines of code', () => {
  const file = new URL('../../examples/store-postgres/src/postgres-store.ts', import.meta.url);
  const lines = readFileSync(file, 'utf8').split('\n');
  const code = lines.filter((line) => !/^\s*(\/\/|\/?\*|import |$)/.test(line));
  expect(code.length).toBeLessThanOrEqual(40);
});

/** With a long timeout, because other tests may keep the machine busy. */
function limited(database: Database, limit: number) {
  const store = postgresStore(database);
  return createLimiter({ name: 'login', limit, window: '1h' }, { store, storeTimeout: '30s' });
}

describe('by the clock of Postgres', () => {
  it('20 callers at once are admitted exactly up to the limit', async () => {
    const limiter = limited(pglite, 7);
    const decisions = await Promise.all(Array.from({ length: 20 }, () => limiter.consume('ada')));
    expect(decisions.filter(({ outcome }) => outcome === 'allowed')).toHaveLength(7);
    expect(decisions.filter(({ outcome }) => outcome === 'denied')).toHaveLength(13);
  });

  it('rows that have expired are deleted, and no others', async () => {
    const limiter = limited(pglite, 7);
    await limiter.consume('ada');
    await pglite.query("INSERT INTO spillway_counts VALUES ('1{old}login}b1', '1', 1)");
    await pglite.query(CLEAN);
    const { rows } = await pglite.query<{ name: string }>('SELECT name FROM spillway_counts');
    expect(rows).toEqual([{ name: expect.stringMatching(/^1\{ada\}login\}/) }]);
    expect((await limiter.peek('ada')).remaining).toBe(6);
    await limiter.reset('ada');
    expect((await pglite.query('SELECT * FROM spillway_counts')).rows).toEqual([]);
  });

  it('keys of any kind are counted, also ones that no text of Postgres may contain', async () => {
    const limiter = limited(pglite, 7);
    for (const key of ['\u0000', '\ud800', 'k'.repeat(8_000), '\u{1f600}', "'; --"]) {
      expect(await limiter.consume(key)).toMatchObject({ outcome: 'allowed', remaining: 6 });
      expect(await limiter.consume(key)).toMatchObject({ outcome: 'allowed', remaining: 5 });
    }
  });
});

describe('over a pool', () => {
  /** A pool of one connection, which records how the connection is released. */
  function poolOf(connection: Connection) {
    const released: boolean[] = [];
    const connect = async () => ({
      query: (sql: string, values?: unknown[]) => connection.query(sql, values),
      release: (destroy = false) => void released.push(destroy),
    });
    return { connect, released };
  }

  it('a decision is one transaction, and the connection comes back', async () => {
    const pool = poolOf(pglite);
    const limiter = limited(fromPool(pool), 1);
    expect((await limiter.consume('ada')).allowed).toBe(true);
    expect((await limiter.consume('ada')).allowed).toBe(false);
    expect(pool.released).toEqual([false, false]);
  });

  it('an error ends the connection, and is the error of the call', async () => {
    const error = new Error('connection lost');
    const pool = poolOf({ query: () => Promise.reject(error) });
    const store = postgresStore(fromPool(pool));
    const rule = makeRule('fixed-window', 1, 1_000_000);
    const look = { op: 'look', limiter: 'a', key: 'b', rule, cost: 1, binding: true } as const;
    await expect(store.apply([look])).rejects.toBe(error);
    expect(pool.released).toEqual([true]);
  });
});
