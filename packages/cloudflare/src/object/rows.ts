/** The texts of an object: a row of SQLite for each. */

import type { StateChanges } from '@spillway/core/store';
import type { ObjectStorage } from '../platform.js';

// Without a row id, so that a text costs one written row and not two.
const CREATE = `CREATE TABLE IF NOT EXISTS texts (
  name TEXT PRIMARY KEY, text TEXT NOT NULL, ends_us INTEGER NOT NULL
) WITHOUT ROWID`;
const EXISTS = "SELECT 1 FROM sqlite_master WHERE name = 'texts'";
const READ = 'SELECT text FROM texts WHERE name = ?';
const WRITE = 'INSERT OR REPLACE INTO texts VALUES (?, ?, ?)';
const DELETE = 'DELETE FROM texts WHERE name = ?';
const DELETE_OVER = 'DELETE FROM texts WHERE ends_us <= ?';
const FIRST_END = 'SELECT min(ends_us) AS ends_us FROM texts';
const NAMES = 'SELECT name FROM texts WHERE name >= ? AND name < ?';

export class Rows {
  private readonly storage: ObjectStorage;
  /** Of the table: undefined until somebody has looked. */
  private exists: boolean | undefined;

  constructor(storage: ObjectStorage) {
    this.storage = storage;
  }

  read(name: string): string | undefined {
    if (!this.hasTable()) return undefined;
    return this.query(READ, name)[0]?.['text'] as string | undefined;
  }

  /** All of them, or none if one cannot be written. */
  write(changes: StateChanges): void {
    this.storage.transactionSync(() => {
      // Made for the first text only: whoever is refused or looked at leaves nothing behind.
      if (!this.hasTable()) this.query(CREATE);
      for (const [name, state] of changes) {
        if (state) this.query(WRITE, name, state.text, state.expiresUs);
        else this.query(DELETE, name);
      }
    });
    this.exists = true;
  }

  /** What of each name stands behind `prefix`, which ends with `}`. */
  endings(prefix: string): string[] {
    if (!this.hasTable()) return [];
    // '~' is the character after '}', and SQLite compares bytes.
    const rows = this.query(NAMES, prefix, `${prefix.slice(0, -1)}~`);
    return rows.map(({ name }) => (name as string).slice(prefix.length));
  }

  /** Deletes what is over. Returns when the first of the others is; undefined if none is left. */
  deleteOver(nowUs: number): number | undefined {
    if (!this.hasTable()) return undefined;
    this.query(DELETE_OVER, nowUs);
    return (this.query(FIRST_END)[0]?.['ends_us'] as number | null) ?? undefined;
  }

  /** Then the object takes no room any more. */
  async deleteAll(): Promise<void> {
    this.exists = false;
    await this.storage.deleteAll();
  }

  private hasTable(): boolean {
    this.exists ??= this.query(EXISTS).length > 0;
    return this.exists;
  }

  private query(query: string, ...bindings: unknown[]): Record<string, unknown>[] {
    return this.storage.sql.exec(query, ...bindings).toArray();
  }
}
