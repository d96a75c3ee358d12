/** The commands of Redis 7 that our scripts call, on values in memory. Arguments and texts are strings of bytes. */

import { LuaError, Table } from './lua-runtime.js';

type Value = string | readonly string[] | ReadonlyMap<string, string> | ReadonlyMap<string, number>;

interface Entry {
  readonly kind: 'string' | 'list' | 'hash' | 'zset';
  /** Never changed, so that a copy of the map of keys is a snapshot. */
  readonly value: Value;
  /** In milliseconds since the epoch. */
  readonly expiresMs: number | undefined;
}

/** What a command returns: a number, a text, null for nil, OK, or a list. */
export type Reply = number | string | null | typeof OK | readonly Reply[];
export const OK: unique symbol = Symbol('OK');

const fail = (message: string): never => {
  throw new LuaError(new Table([], { __proto__: null, err: message } as never));
};
const WRONG = 'WRONGTYPE Operation against a key holding the wrong kind of value';
const NOT_INTEGER = 'ERR value is not an integer or out of range';

export class Database {
  keys: Map<string, Entry> = new Map();
  /** Counts the commands that have changed something. */
  writes = 0;
  nowUs = 0;

  private get nowMs(): number {
    return Math.floor(this.nowUs / 1_000);
  }

  /** How many keys have not expired. */
  size(): number {
    for (const key of [...this.keys.keys()]) this.entry(key);
    return this.keys.size;
  }

  /** @throws LuaError with the error's text, as Redis gives it to a script */
  run(name: string, args: readonly string[]): Reply {
    const command = COMMANDS[name.toUpperCase()];
    if (!command) return fail(`ERR no ${name} in the model`);
    return command(this, args);
  }

  entry(key: string): Entry | undefined {
    const entry = this.keys.get(key);
    if (entry?.expiresMs !== undefined && this.nowMs > entry.expiresMs) {
      this.keys.delete(key);
      return undefined;
    }
    return entry;
  }

  read<Kind extends Entry['kind']>(key: string, kind: Kind): ValueOf<Kind> | undefined {
    const entry = this.entry(key);
    if (!entry) return undefined;
    if (entry.kind !== kind) return fail(WRONG);
    return entry.value as ValueOf<Kind>;
  }

  /** Stores a value in place of the current one, and keeps its expiry unless a new one is given. */
  write(key: string, kind: Entry['kind'], value: Value, expiresMs?: number | null): void {
    this.writes += 1;
    const isEmpty = typeof value !== 'string' && [...value].length === 0;
    const until = expiresMs === undefined ? this.entry(key)?.expiresMs : (expiresMs ?? undefined);
    if (isEmpty) this.keys.delete(key);
    else this.keys.set(key, { kind, value, expiresMs: until });
  }

  expiry(text: string, command: string): number {
    const ms = integer(text);
    if (ms <= 0 || ms > Number.MAX_SAFE_INTEGER) {
      return fail(`ERR invalid expire time in '${command}' command`);
    }
    return this.nowMs + ms;
  }

  get ms(): number {
    return this.nowMs;
  }
}

type ValueOf<Kind extends Entry['kind']> = {
  string: string;
  list: readonly string[];
  hash: ReadonlyMap<string, string>;
  zset: ReadonlyMap<string, number>;
}[Kind];

function integer(text: string): number {
  if (!/^-?(0|[1-9]\d{0,18})$/.test(text) || text === '-0') return fail(NOT_INTEGER);
  return Number(text);
}

/** The end of a range of scores: whether a score is inside. */
function bound(text: string, isLower: boolean): (score: number) => boolean {
  const isOpen = text.startsWith('(');
  const digits = isOpen ? text.slice(1) : text;
  const end = /^[-+]?inf$/i.test(digits)
    ? digits.startsWith('-')
      ? Number.NEGATIVE_INFINITY
      : Number.POSITIVE_INFINITY
    : Number(digits);
  if (digits === '' || Number.isNaN(end)) return fail('ERR min or max is not a float');
  if (isLower) return isOpen ? (score) => score > end : (score) => score >= end;
  return isOpen ? (score) => score < end : (score) => score <= end;
}

function within(
  zset: ReadonlyMap<string, number> | undefined,
  from: string,
  to: string,
): [string, number][] {
  const [above, below] = [bound(from, true), bound(to, false)];
  return [...(zset ?? [])]
    .filter(([, score]) => above(score) && below(score))
    .sort(([a, x], [b, y]) => x - y || (a < b ? -1 : 1));
}

/** Where a range of a list begins and ends, as a slice. */
function range(size: number, from: string, to: string): [number, number] {
  const place = (text: string): number => {
    const at = integer(text);
    return at < 0 ? size + at : at;
  };
  return [Math.max(0, place(from)), place(to) + 1];
}

type Command = (db: Database, args: readonly string[]) => Reply;

const COMMANDS: Readonly<Record<string, Command>> = {
  TIME: ({ nowUs }) => [`${Math.floor(nowUs / 1_000_000)}`, `${nowUs % 1_000_000}`],
  GET: (db, [key = '']) => db.read(key, 'string') ?? null,
  SET: (db, [key = '', value = '', px, ms = '']) => {
    const until = px === undefined ? null : db.expiry(ms, 'set');
    db.write(key, 'string', value, until);
    return OK;
  },
  DEL: (db, keys) => {
    const known = keys.filter((key) => db.entry(key));
    for (const key of known) db.keys.delete(key);
    db.writes += known.length;
    return known.length;
  },
  PEXPIRE: (db, [key = '', text = '']) => {
    const ms = integer(text);
    const entry = db.entry(key);
    if (!entry) return 0;
    db.writes += 1;
    if (ms <= 0) db.keys.delete(key);
    else db.keys.set(key, { ...entry, expiresMs: db.ms + ms });
    return 1;
  },
  PTTL: (db, [key = '']) => {
    const entry = db.entry(key);
    if (!entry) return -2;
    return entry.expiresMs === undefined ? -1 : Math.max(0, entry.expiresMs - db.ms);
  },
  LINDEX: (db, [key = '', at = '']) => db.read(key, 'list')?.at(integer(at)) ?? null,
  LLEN: (db, [key = '']) => db.read(key, 'list')?.length ?? 0,
  LRANGE: (db, [key = '', from = '', to = '']) => {
    const list = db.read(key, 'list') ?? [];
    return list.slice(...range(list.length, from, to));
  },
  LTRIM: (db, [key = '', from = '', to = '']) => {
    const list = db.read(key, 'list');
    if (list) db.write(key, 'list', list.slice(...range(list.length, from, to)));
    return OK;
  },
  LSET: (db, [key = '', at = '', value = '']) => {
    const list = db.read(key, 'list');
    if (!list) return fail('ERR no such key');
    const place = integer(at) < 0 ? list.length + integer(at) : integer(at);
    if (place < 0 || place >= list.length) return fail('ERR index out of range');
    db.write(key, 'list', list.with(place, value));
    return OK;
  },
  LREM: (db, [key = '', count = '', value = '']) => {
    if (count !== '1') return fail('ERR the model removes one element');
    const list = db.read(key, 'list');
    const at = list?.indexOf(value) ?? -1;
    if (!list || at < 0) return 0;
    db.write(key, 'list', list.toSpliced(at, 1));
    return 1;
  },
  LPUSH: (db, [key = '', ...values]) => {
    const list = [...values.reverse(), ...(db.read(key, 'list') ?? [])];
    db.write(key, 'list', list);
    return list.length;
  },
  RPUSH: (db, [key = '', ...values]) => {
    const list = [...(db.read(key, 'list') ?? []), ...values];
    db.write(key, 'list', list);
    return list.length;
  },
  HGET: (db, [key = '', name = '']) => db.read(key, 'hash')?.get(name) ?? null,
  HGETALL: (db, [key = '']) => [...(db.read(key, 'hash') ?? [])].flat(),
  HSET: (db, [key = '', ...pairs]) => {
    const hash = new Map(db.read(key, 'hash'));
    const before = hash.size;
    for (let at = 0; at < pairs.length; at += 2) {
      hash.set(pairs[at] as string, pairs[at + 1] as string);
    }
    db.write(key, 'hash', hash);
    return hash.size - before;
  },
  HDEL: (db, [key = '', ...names]) => {
    const hash = new Map(db.read(key, 'hash'));
    const gone = names.filter((name) => hash.delete(name)).length;
    if (gone > 0) db.write(key, 'hash', hash);
    return gone;
  },
  ZADD: (db, [key = '', score = '', id = '']) => {
    const zset = new Map(db.read(key, 'zset'));
    const isNew = !zset.has(id);
    db.write(key, 'zset', zset.set(id, Number(score)));
    return isNew ? 1 : 0;
  },
  ZCARD: (db, [key = '']) => db.read(key, 'zset')?.size ?? 0,
  ZCOUNT: (db, [key = '', from = '', to = '']) => within(db.read(key, 'zset'), from, to).length,
  ZSCORE: (db, [key = '', id = '']) => {
    const score = db.read(key, 'zset')?.get(id);
    return score === undefined ? null : String(score);
  },
  ZRANGEBYSCORE: (db, [key = '', from = '', to = '']) =>
    within(db.read(key, 'zset'), from, to).map(([id]) => id),
  ZREM: (db, [key = '', id = '']) => {
    const zset = new Map(db.read(key, 'zset'));
    if (!zset.delete(id)) return 0;
    db.write(key, 'zset', zset);
    return 1;
  },
  ZREMRANGEBYSCORE: (db, [key = '', from = '', to = '']) => {
    const zset = new Map(db.read(key, 'zset'));
    const gone = within(zset, from, to);
    for (const [id] of gone) zset.delete(id);
    if (gone.length > 0) db.write(key, 'zset', zset);
    return gone.length;
  },
};
