import { concurrencyLimit, createGuard, rateLimit, type StoreCallEvent } from '@spillway/core';
import { Redis } from 'ioredis';
import { describeOnEachServer, type RedisServer } from 'spillway-testkit/redis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RedisClient, redisStore } from '../src/index.js';
import { take } from './steps.js';

const request = {
  method: 'GET',
  path: '/',
  clientIp: '203.0.113.7',
  header: () => undefined,
  raw: undefined,
};

/** A server on which every call fails with `error`. */
function failing(error: unknown): RedisClient {
  const fail = () => Promise.reject(error);
  return { state: 'ready', evalsha: fail, eval: fail, onceChanged: () => () => {} };
}

function errorOf(client: RedisClient): Promise<{ code: string; kind: string; message: string }> {
  return redisStore(client)
    .apply([take('ada')])
    .then(
      () => expect.unreachable(),
      (error) => error,
    );
}

describe('an error that Redis answers with', () => {
  it.each([
    ['LOADING Redis is loading the dataset in memory', 'loading'],
    ["READONLY You can't write against a read only replica.", 'readonly'],
    ["OOM command not allowed when used memory > 'maxmemory'.", 'oom'],
    ['NOAUTH Authentication required.', 'noauth'],
    ['ERR Protocol error: unauthenticated multibulk length', 'noauth'],
    ['WRONGPASS invalid username-password pair or user is disabled.', 'noauth'],
    ['BUSY Redis is busy running a script.', 'busy'],
    ["MASTERDOWN Link with MASTER is down and replica-serve-stale-data is 'no'.", 'masterdown'],
    ['CLUSTERDOWN The cluster is down', 'clusterdown'],
    ['MISCONF Errors writing to the AOF file', 'misconf'],
    ['NOREPLICAS Not enough good replicas to write.', 'noreplicas'],
  ])('is of the whole server: %s', async (message, kind) => {
    const error = await errorOf(failing(new Error(message)));
    expect(error).toMatchObject({ code: 'SPW_STORE_UNAVAILABLE', kind });
    expect(error.message).not.toContain('ada');
  });

  it.each([
    ["NOPERM User ada has no permissions to run the 'evalsha' command", 'noperm'],
    ["CROSSSLOT Keys in request don't hash to the same slot", 'crossslot'],
    ['MOVED 3999 127.0.0.1:6381', 'moved'],
    ['ASK 3999 127.0.0.1:6381', 'moved'],
    ['TRYAGAIN Multiple keys request during rehashing of slot', 'tryagain'],
    ['NOSCRIPT No matching script.', 'noscript'],
    ['WRONGTYPE Operation against a key', 'other'],
    ['ERR something of ada', 'other'],
  ])('is of one call: %s', async (message, kind) => {
    const error = await errorOf(failing(new Error(message)));
    expect(error).toMatchObject({ code: 'SPW_STORE_ERROR', kind });
    expect(error.message).not.toContain('ada');
  });
});

describe('an error of a Cluster', () => {
  const MOVED = 'MOVED 3999 127.0.0.1:6381';
  const ASK = 'ASK 3999 127.0.0.1:6381';
  const CROSSSLOT = "CROSSSLOT Keys in request don't hash to the same slot";

  it.each([MOVED, ASK, CROSSSLOT])(
    'tells a client for one server what to pass: %s',
    async (text) => {
      const { message } = await errorOf(failing(new Error(text)));
      expect(message).toContain('pass a client for clusters');
    },
  );

  it.each([
    [MOVED, "autoPipeliningIgnoredCommands: ['evalsha', 'eval']"],
    [ASK, "autoPipeliningIgnoredCommands: ['evalsha', 'eval']"],
    [CROSSSLOT, 'CROSSSLOT (SPW_STORE_ERROR)'],
  ])('tells a client for clusters no such thing: %s', async (text, told) => {
    const client = { ...failing(new Error(text)), isCluster: true };
    const { message } = await errorOf(client);
    expect(message).not.toContain('pass a client');
    expect(message).toContain(told);
  });
});

describe('a right that the user lacks', () => {
  it.each([
    [
      "NOPERM this user has no permissions to run the 'evalsha' command or its subcommand",
      'evalsha',
    ],
    ["NOPERM this user has no permissions to run the 'evalsha' command", 'evalsha'],
    ["NOPERM User ada has no permissions to run the 'evalsha' command", 'evalsha'],
    ['NOPERM this user has no permissions to access one of the keys used as arguments', undefined],
    ['NOPERM No permissions to access a key', undefined],
    ['NOPERM No permissions to access database', undefined],
  ])('to make the call is told as noperm: %s', async (message, command) => {
    const error = await errorOf(failing(new Error(message)));
    expect(error).toMatchObject({ code: 'SPW_STORE_ERROR', kind: 'noperm' });
    expect(error.message).not.toContain('ada');
    if (command) expect(error.message).toContain(`'${command}'`);
  });

  it.each([
    // Redis 6.2
    "@user_script: 104: The user executing the script can't run this command or subcommand",
    "The user executing the script can't access at least one of the keys mentioned in the command arguments",
    // Redis 7.0
    "ERR The user executing the script can't run this command or subcommand script: 104a, on @user_script:1.",
    // Redis 7.2 to 8, Valkey
    "ERR ACL failure in script: User ada has no permissions to run the 'zadd' command script: 104a, on @user_script:1.",
    'ERR ACL failure in script: No permissions to access a key',
    "NOPERM ACL failure in script: User ada has no permissions to run the 'zadd' command",
    "-NOPERM this user has no permissions to run the 'zadd' command script: 104a",
  ])('within the script is told as noperm: %s', async (message) => {
    const inScript = { ...failing(undefined), evalsha: async () => [1, `!${message}`] };
    for (const client of [inScript, failing(new Error(message))]) {
      const error = await errorOf(client);
      expect(error).toMatchObject({ code: 'SPW_STORE_ERROR', kind: 'noperm' });
      expect(error.message).not.toContain('ada');
      if (message.includes('zadd')) expect(error.message).toContain("'zadd'");
    }
  });
});

describe('an error that Redis 6.2 puts a place before', () => {
  it.each([
    "@user_script: 318: -READONLY You can't write against a read only replica.",
    "=(tail call): -1: -READONLY You can't write against a read only replica.",
    "=[C]: -1: -READONLY You can't write against a read only replica.",
  ])('is told by its own word, within the script and for the whole call: %s', async (message) => {
    const readonly = { code: 'SPW_STORE_UNAVAILABLE', kind: 'readonly' };
    const inScript = { ...failing(undefined), evalsha: async () => [1, `!${message}`] };
    expect(await errorOf(inScript)).toMatchObject(readonly);
    const whole = `ERR Error running script (call to f_104a): @user_script:318: ${message}`;
    expect(await errorOf(failing(new Error(whole)))).toMatchObject(readonly);
  });

  it('is an error of the script if it is none of Redis', async () => {
    const whole = 'ERR Error running script (call to f_104a): @user_script:3: user_script:3: bad';
    expect(await errorOf(failing(new Error(whole)))).toMatchObject({ kind: 'other' });
  });
});

describe('a call that cannot be made', () => {
  it.each([
    new RangeError('Maximum call stack size exceeded'),
    new TypeError('of ada'),
    'no error',
  ])('is its own affair, and says nothing of the server: %s', async (thrown) => {
    const throws = () => {
      throw thrown;
    };
    const error = await errorOf({ ...failing(thrown), evalsha: throws });
    expect(error).toMatchObject({ code: 'SPW_STORE_ERROR', kind: 'unsent', cause: thrown });
    expect(error.message).not.toMatch(/ada|stack/);
  });
});

describe('a call that is lost', () => {
  it.each([new Error('Connection is closed.'), new Error('read ECONNRESET'), 'no error at all'])(
    'says so, and nothing of where to: %s',
    async (cause) => {
      const error = await errorOf(failing(cause));
      expect(error).toMatchObject({ code: 'SPW_STORE_UNAVAILABLE', kind: 'connection', cause });
      expect(error.message).not.toMatch(/closed|ECONNRESET|at all/);
    },
  );
});

describeOnEachServer('a Redis that', (start) => {
  let server: RedisServer;
  let admin: Redis;
  beforeAll(async () => {
    server = await start();
    admin = new Redis(server.port);
  });
  afterAll(async () => {
    admin.disconnect();
    await server.kill();
  });

  /** What observers and the logger receive for twenty requests during a failure, and for twenty after it has ended. */
  async function told(spoil: () => Promise<unknown>, mend: () => Promise<unknown>) {
    const client = new Redis(server.port, { username: 'limited', password: 'secret' });
    const calls: StoreCallEvent[] = [];
    const warnings: string[] = [];
    const guard = createGuard(
      rateLimit({ name: 'api', limit: 1_000, window: '1m', key: ({ path }) => path }),
      {
        store: redisStore(client),
        observers: [{ onStoreCall: (event) => calls.push(event) }],
        logger: { warn: (line) => warnings.push(line) },
        breaker: { probeEvery: '1ms' },
        storeTimeout: '5s', // a slow machine is not an outage
      },
    );
    const ask = async (path: string) => {
      const admission = await guard.admit({ ...request, path });
      return admission.decisions[0]?.outcome;
    };
    expect(await ask('/')).toBe('allowed');
    await spoil();
    for (let i = 0; i < 20; i += 1) expect(await ask(`/${i}`)).toBe('error');
    await mend();
    await expect.poll(() => ask('/'), { interval: 5 }).toBe('allowed');
    const answered = [...calls];
    for (let i = 0; i < 20; i += 1) expect(await ask(`/${i}`)).toBe('allowed');
    client.disconnect();
    return { outcomes: new Set(answered.map(({ outcome }) => outcome)), warnings };
  }

  it('denies commands of leases lets all other limits hold, and tells of it in a line', async () => {
    await admin.acl('SETUSER', 'no-leases', 'on', '>secret', '~spw:*', '+@all', '-zadd', '-zcard');
    const client = new Redis(server.port, { username: 'no-leases', password: 'secret' });
    const warnings: string[] = [];
    const options = {
      store: redisStore(client),
      logger: { warn: (line: string) => warnings.push(line) },
      storeTimeout: '5s', // a slow machine is not an outage
    } as const;
    const rate = rateLimit({ name: 'rate', limit: 3, window: '1h' });
    const held = createGuard(concurrencyLimit({ name: 'held', limit: 2 }), options);
    const rated = createGuard(rate, options);
    const outcomes = [];
    for (let i = 0; i < 10; i += 1) {
      const admissions = [await held.admit(request), await rated.admit(request)];
      outcomes.push(admissions.map(({ decisions }) => decisions[0]?.outcome));
    }
    client.disconnect();
    expect(outcomes.map(([first]) => first)).toEqual(Array(10).fill('error'));
    expect(outcomes.filter(([, second]) => second === 'allowed')).toHaveLength(3);
    expect(warnings).toEqual([expect.stringMatching(/limiter "held".*NOPERM.*operations\.md/)]);
  });

  beforeAll(() => admin.acl('SETUSER', 'limited', 'on', '>secret', '~spw:*', '+@all'));

  it.each([
    ['oom', 'CONFIG SET maxmemory 1', 'CONFIG SET maxmemory 0'],
    ['readonly', 'REPLICAOF 127.0.0.1 1', 'REPLICAOF NO ONE'],
  ])(
    'answers with %s is told of once, by that name, and once when it decides again',
    async (kind, spoil, mend) => {
      const command = (text: string) => admin.call(...(text.split(' ') as [string, ...string[]]));
      const { outcomes, warnings } = await told(
        () => command(spoil),
        () => command(mend),
      );
      expect(outcomes).toEqual(new Set(['ok', kind]));
      expect(warnings).toHaveLength(2);
      expect(warnings[0]).toContain(kind.toUpperCase());
      expect(warnings[1]).toContain('works again');
    },
  );
});
