/** A model of one Redis server: runs real scripts on values in memory, at a given instant. */

import { createHash } from 'node:crypto';
import { Database, OK, type Reply } from './commands.js';
import { type Compiled, compile } from './lua.js';
import { general, LuaError, Multi, Table } from './lua-runtime.js';

export type { Reply } from './commands.js';

/** Scripts are compiled once, whichever server runs them. */
const compiled = new Map<string, Compiled>();

export class ModelRedis {
  readonly db: Database = new Database();
  private scripts = new Map<string, string>();

  /** @throws Error with Redis's own message */
  evalsha(sha: string, keys: readonly string[], args: readonly string[], nowUs: number): Reply {
    const text = this.scripts.get(sha);
    if (text === undefined) throw new Error('NOSCRIPT No matching script. Please use EVAL.');
    return this.run(text, keys, args, nowUs);
  }

  /** @throws Error with Redis's own message */
  eval(text: string, keys: readonly string[], args: readonly string[], nowUs: number): Reply {
    this.scripts.set(createHash('sha1').update(text).digest('hex'), text);
    return this.run(text, keys, args, nowUs);
  }

  /** Starts again. @param keys what it still has: nothing, or an earlier {@link snapshot} */
  restart(keys: Database['keys'] = new Map()): void {
    this.scripts = new Map();
    this.db.keys = new Map(keys);
  }

  snapshot(): Database['keys'] {
    return new Map(this.db.keys);
  }

  private run(
    text: string,
    keys: readonly string[],
    args: readonly string[],
    nowUs: number,
  ): Reply {
    const script = compiled.get(text) ?? compile(text);
    compiled.set(text, script);
    this.db.nowUs = nowUs;
    const globals = {
      KEYS: new Table([...keys]),
      ARGV: new Table([...args]),
      redis: this.redis,
    };
    try {
      const returned = script(globals);
      return replyOf(returned instanceof Multi ? returned[0] : returned);
    } catch (error) {
      if (error instanceof LuaError) throw new Error(error.message);
      throw error;
    }
  }

  private readonly call = (name: unknown, ...args: unknown[]): unknown =>
    luaOf(this.db.run(String(name), args.map(argument)));

  private readonly redis: Table = new Table([], {
    __proto__: null,
    call: this.call,
    pcall: (...args: [unknown, ...unknown[]]) => {
      try {
        return this.call(...args);
      } catch (error) {
        if (error instanceof LuaError) return error.value;
        throw error;
      }
    },
  } as never);
}

/** Redis writes a number as `%.17g`, or as an integer if it is one. */
function argument(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value !== 'number') {
    throw new LuaError(
      new Table([], {
        __proto__: null,
        err: 'ERR Lua redis lib command arguments must be strings or integers',
      } as never),
    );
  }
  return Number.isSafeInteger(value) ? String(value) : general(value, 17);
}

/** A command's reply as a script sees it: nil as false. */
function luaOf(reply: Reply): unknown {
  if (reply === null) return false;
  if (reply === OK) return new Table([], { __proto__: null, ok: 'OK' } as never);
  return Array.isArray(reply) ? new Table(reply.map(luaOf)) : reply;
}

/** What a script has returned, as a client sees it: numbers are cut, and a list ends at its first nil. */
function replyOf(value: unknown): Reply {
  if (value === undefined || value === false) return null;
  if (value === true) return 1;
  if (typeof value === 'number') return Math.trunc(value) || 0;
  if (typeof value === 'string') return value;
  if (!(value instanceof Table)) throw new Error('a script returned a function');
  const { err, ok } = value.named;
  if (err !== undefined) throw new Error(String(err));
  if (ok !== undefined) return String(ok);
  const end = value.list.indexOf(undefined);
  return (end < 0 ? value.list : value.list.slice(0, end)).map(replyOf);
}
