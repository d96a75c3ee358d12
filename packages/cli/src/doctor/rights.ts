/**
 * Every command that the Lua scripts of the store and of `RedisControl` use. The arguments change only the probe key.
 * `set` runs first. If the user may run it, it makes the key a string that expires. Commands for other types then fail,
 * so they can't create a key without an expiry.
 */
const CALLS: readonly (readonly string[])[] = [
  ['set', 'PROBE', '1', 'PX', '1000'],
  ['get', 'PROBE'],
  ['pexpire', 'PROBE', '1000'],
  ['pttl', 'PROBE'],
  ['lrange', 'PROBE', '0', '0'],
  ['rpush', 'PROBE', '1'],
  ['lpush', 'PROBE', '1'],
  ['lset', 'PROBE', '0', '1'],
  ['lindex', 'PROBE', '0'],
  ['lrem', 'PROBE', '0', '1'],
  ['ltrim', 'PROBE', '0', '0'],
  ['llen', 'PROBE'],
  ['zadd', 'PROBE', '1', '1'],
  ['zcard', 'PROBE'],
  ['zcount', 'PROBE', '0', '1'],
  ['zscore', 'PROBE', '1'],
  ['zrem', 'PROBE', '1'],
  ['zremrangebyscore', 'PROBE', '0', '1'],
  ['zrangebyscore', 'PROBE', '0', '1'],
  ['hset', 'PROBE', '1', '1'],
  ['hget', 'PROBE', '1'],
  ['hgetall', 'PROBE'],
  ['hdel', 'PROBE', '1'],
  ['time'],
  ['del', 'PROBE'],
];

/** Returns a flat list of failed commands and their errors: command, error, command, error ... */
export const RIGHTS_SCRIPT: string = `
local refused = {}
local function try(name, ...)
  local reply = redis.pcall(name, ...)
  if type(reply) == 'table' and reply.err then
    refused[#refused + 1] = name
    refused[#refused + 1] = reply.err
  end
end
${CALLS.map(luaCall).join('\n')}
return refused`;

export interface Rights {
  readonly missing: readonly string[];
  readonly isKeyRefused: boolean;
  /** The error of a Redis that rejects writes, because it is full, is a replica, or can't save. */
  readonly notWritten?: string;
}

export function rightsFrom(reply: unknown): Rights {
  const texts = Array.isArray(reply) ? reply.map(String) : [];
  const errors = texts.flatMap((text, at) =>
    at % 2 === 0 ? [{ command: text, error: texts[at + 1] ?? '' }] : [],
  );
  const isOfKey = ({ error }: { error: string }): boolean => /\bkeys?\b/.test(error);
  const refused = errors.filter(({ error }) => isRefusal(error));
  const write = errors.find(({ command, error }) => command === 'set' && !isRefusal(error));
  return {
    missing: refused.filter((one) => !isOfKey(one)).map(({ command }) => command),
    isKeyRefused: refused.some(isOfKey),
    ...(write && { notWritten: write.error }),
  };
}

/**
 * Recognizes a permission error. In Redis 6.2 and 7.0, such an error does not contain NOPERM if the command is in a
 * script.
 */
export function isRefusal(error: string): boolean {
  return /NOPERM|no permission|can't (run|access)/i.test(error);
}

function luaCall([command, ...args]: readonly string[]): string {
  const values = args.map((arg) => (arg === 'PROBE' ? 'KEYS[1]' : `'${arg}'`));
  return `try(${[`'${command}'`, ...values].join(', ')})`;
}
