/** Reads the address of Redis. */

import { UsageError } from './usage-error.js';

/**
 * The address of Redis.
 *
 * @throws UsageError without the text, which may contain a password
 */
export function redisUrl(text: string | undefined): URL {
  if (text === undefined || text === '') {
    throw new UsageError(
      'which Redis? Set REDIS_URL, or say --redis redis://host:6379 (a password is better kept in REDIS_URL: others see arguments)',
    );
  }
  let url: URL | undefined;
  try {
    url = new URL(text);
  } catch {
    // Reported below.
  }
  if (url && /^rediss?:$/.test(url.protocol) && url.hostname !== '') return url;
  throw new UsageError(
    'the address of Redis must be like redis://user:password@host:6379/0 (rediss: with TLS)',
  );
}

export function portOf(url: URL): number {
  return Number(url.port || '6379');
}

export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1');
}

/** @throws UsageError */
export function databaseOf(url: URL): number {
  const database = Number(url.pathname.slice(1) || '0');
  if (Number.isSafeInteger(database) && database >= 0) return database;
  throw new UsageError('the database in the address of Redis must be a number, as in /0');
}
