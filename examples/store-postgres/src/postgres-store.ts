/** Counts in Postgres: one row for each count, one transaction for each decision. */

import { createHash } from 'node:crypto';
import { type StateBackend, stateStore } from '@spillway/core/store';

/** Unlogged: a decision writes no WAL. But a crash of Postgres empties the table, so all counts start again. */
export const TABLE = `
  CREATE UNLOGGED TABLE IF NOT EXISTS spillway_counts (
    name text COLLATE "C" PRIMARY KEY, state text NOT NULL, expires_us bigint NOT NULL
  ) WITH (fillfactor = 50)`;

// In ascending order, so that two transactions never wait for each other. Also locks rows that don't exist yet.
const LOCK = `
  SELECT pg_advisory_xact_lock(id) FROM (
    SELECT DISTINCT hashtextextended(name, 0) AS id FROM unnest($1::text[]) AS name ORDER BY id) AS ids`;

const NOW_US = '(extract(epoch FROM clock_timestamp()) * 1000000)::bigint';
// A separate statement, because it must see what was committed while LOCK was waiting.
const READ = `
  SELECT ${NOW_US} AS now, json_object_agg(name, state) AS texts
  FROM spillway_counts WHERE name = ANY($1::text[])`;

/** Takes the changes as JSON. A count without a text is deleted. */
const WRITE = `
  WITH changes AS (
    SELECT * FROM json_to_recordset($1) AS change(name text, text text, "expiresUs" bigint)
  ), deleted AS (
    DELETE FROM spillway_counts old USING changes WHERE old.name = changes.name AND text IS NULL
  )
  INSERT INTO spillway_counts SELECT * FROM changes WHERE text IS NOT NULL
  ON CONFLICT (name) DO UPDATE SET state = excluded.state, expires_us = excluded.expires_us`;

/** Deletes expired counts. Run it every ten minutes or so; decisions can go on meanwhile. */
export const CLEAN = `DELETE FROM spillway_counts WHERE expires_us <= ${NOW_US}`;

/** One connection, in a transaction at level READ COMMITTED. */
export interface Connection {
  query(sql: string, values?: unknown[]): Promise<{ rows: unknown[] }>;
}

/** Commits when `run` resolves, rolls back when it rejects. PGlite is one; {@link fromPool} makes one. */
export interface Database {
  transaction<T>(run: (connection: Connection) => Promise<T>): Promise<T>;
}

export const postgresBackend = (database: Database): StateBackend => ({
  label: 'Postgres',
  hash: (text) => createHash('sha256').update(text).digest('hex'),
  transact: (names, decide) =>
    database.transaction(async (connection) => {
      await connection.query(LOCK, [names]);
      const { rows } = await connection.query(READ, [names]);
      const [{ now, texts }] = rows as [{ now: string; texts: Record<string, string> | null }];
      const states = names.map((name) => texts?.[name]);
      const changes = [...decide(states, Number(now))].map(([name, state]) => ({ name, ...state }));
      if (changes.length > 0) await connection.query(WRITE, [JSON.stringify(changes)]);
    }),
});

export const postgresStore = (database: Database) => stateStore(postgresBackend(database));
