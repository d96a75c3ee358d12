/** A `Database` of a `Pool` of the package `pg`. */

import type { Connection, Database } from './postgres-store.js';

/** What is needed of a `Pool`. */
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
