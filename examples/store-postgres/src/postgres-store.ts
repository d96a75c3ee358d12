/** Counts in Postgres: one row for each count, one transaction for each decision. */

import { createHash } from 'node:crypto';
import { type StateBackend, stateStore } from '@spillway/core/store';

/** Unlogged: a crash of Postgres empties the table, and all counts begin again. In return a decision writes no WAL. */
export const TABLE = `
  CREATE UNLOGGED TABLE IF NOT EXISTS spillway_counts (
    name text COLLATE "C" PRIMARY KEY,
    state text NOT NULL,
    expires_us bigint NOT NULL
  ) WITH (fillfactor = 50)`;

// In ascending order, so that two transactions never wait for each other. Also holds for rows that do not exist yet.
const LOCK = `
  SELECT pg_advisory_xact_lock(id) FROM (
    SELECT DISTINCT hashtextextended(name, 0) AS id FROM unnest($1::text[]) AS name ORDER BY id
  ) AS ids`;

// A separate statement sees what was committed while LOCK was waiting.
const NOW_US = '(extract(epoch FROM clock_timestamp()) * 1000000)::bigint';
const READ = `
  SELECT ${NOW_US} AS now_us, (
    SELECT json_object_agg(name, state) FROM spillway_counts WHERE name = ANY($1::text[])
  ) AS texts`;

const WRITE = `
  INSERT INTO spillway_counts SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[])
  ON CONFLICT (name) DO UPDATE SET state = excluded.state, expires_us = excluded.expires_us`;

const DELETE = 'DELETE FROM spillway_counts WHERE name = ANY($1::text[])';

/** Delete what has expired from time to time, such as every ten minutes. It may run beside decisions. */
export const CLEAN = `DELETE FROM spillway_counts WHERE expires_us <= ${NOW_US}`;

/** One connection, in a transaction at the level READ COMMITTED. */
export interface Connection {
  query(sql: string, values?: unknown[]): Promise<{ rows: unknown[] }>;
}

/** Commits when `run` resolves, rolls back when it rejects. PGlite is one; {@link fromPool} makes one of a `pg.Pool`. */
export interface Database {
  transaction<T>(run: (connection: Connection) => Promise<T>): Promise<T>;
}

export function postgresBackend(database: Database): StateBackend {
  return {
    label: 'Postgres',
    hash: (text) => createHash('sha256').update(text).digest('hex'),
    transact: (names, decide) =>
      database.transaction(async (connection) => {
        await connection.query(LOCK, [names]);
        const { rows } = await connection.query(READ, [names]);
        const { now_us, texts } = rows[0] as { now_us: string; texts: Texts | null };
        const changes = [
          ...decide(
            names.map((name) => texts?.[name]),
            Number(now_us),
          ),
        ];
        const kept = changes.flatMap(([name, state]) => (state ? [{ name, ...state }] : []));
        const gone = changes.flatMap(([name, state]) => (state ? [] : [name]));
        if (kept.length > 0) {
          const column = (of: 'name' | 'text' | 'expiresUs') => kept.map((row) => row[of]);
          await connection.query(WRITE, [column('name'), column('text'), column('expiresUs')]);
        }
        if (gone.length > 0) await connection.query(DELETE, [gone]);
      }),
  };
}

type Texts = Readonly<Record<string, string>>;

export const postgresStore = (database: Database) => stateStore(postgresBackend(database));
