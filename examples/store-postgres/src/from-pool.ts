/** Makes a `Database` from a `Pool` of the package `pg`. */

import type { Connection, Database } from './postgres-store.js';

/** The part of a `Pool` that is used here. */
export interface Pool {
  connect(): Promise<Connection & { release(destroy?: boolean): void }>;
}

export function fromPool(pool: Pool): Database {
  return {
    async transaction(run) {
      const connection = await pool.connect();
      try {
        await connection.query('BEGIN ISOLATION LEVEL READ COMMITTED');
        const result = await run(connection);
        await connection.query('COMMIT');
        connection.release();
        return result;
      } catch (error) {
        connection.release(true); // ends the connection, and with it the transaction
        throw error;
      }
    },
  };
}
