import { UsageError } from './usage-error.js';

export interface RedisPlace {
  readonly url: URL;
  readonly at: readonly { readonly host: string; readonly port: number }[];
  readonly username: string;
  readonly password: string;
}

/**
 * @param usualPort for addresses without a port
 * @throws UsageError; the message never contains the text, which may contain a password
 */
export function redisPlace(text: string | undefined, usualPort: number): RedisPlace {
  if (text === undefined || text === '') {
    throw new UsageError(
      'the address of Redis is missing: set REDIS_URL, or add --redis redis://host:6379 (put a password in REDIS_URL: others can see arguments)',
    );
  }
  // Other clients write several addresses in this form: redis://user:password@a:26379,b:26379/0
  const [, head = '', hosts = '', tail = ''] =
    /^(\w+:\/\/(?:[^/?#]*@)?)([^/?#]*)([^@]*)$/s.exec(text) ?? [];
  const urls = hosts.split(',').map((host) => urlOf(`${head}${host}${tail}`));
  const [url] = urls;
  if (url && urls.every((one) => one !== undefined)) {
    const at = urls.map((one) => ({ host: hostOf(one), port: Number(one.port || usualPort) }));
    return { url, at, username: decoded(url.username), password: decoded(url.password) };
  }
  throw malformed();
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw malformed();
  }
}

function malformed(): UsageError {
  return new UsageError(
    'the address of Redis must be like redis://user:password@host:6379/0 (rediss: with TLS), ' +
      'with %25, %2F, %3F and %23 for %, /, ? and # in the user or the password',
  );
}

export function databaseOf(url: URL): number {
  const database = Number(url.pathname.slice(1) || '0');
  if (Number.isSafeInteger(database) && database >= 0) return database;
  throw new UsageError('the database in the address of Redis must be a number, as in /0');
}

function urlOf(text: string): URL | undefined {
  try {
    const url = new URL(text);
    return /^rediss?:$/.test(url.protocol) && url.hostname !== '' ? url : undefined;
  } catch {
    return undefined;
  }
}

function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1');
}
