/** Every kind of error that Redis answers with, caused on each server that we have, because the texts differ. */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { assignSlots, describeOnEachServer, type RedisServer } from 'spillway-testkit/redis';
import { expect, it, onTestFinished } from 'vitest';
import { redisControl, redisStore } from '../src/index.js';
import { nameOf, take } from './steps.js';

function clientOf(server: RedisServer, user: { username?: string; password?: string } = {}): Redis {
  const client = new Redis({ port: server.port, ...user });
  client.on('error', () => undefined);
  onTestFinished(() => client.disconnect());
  return client;
}

/** The kind of error that a decision about `keys` meets, or `none`. */
async function kindOf(client: Redis, ...keys: string[]): Promise<string> {
  const store = redisStore(client, { logger: false });
  const steps = (keys.length === 0 ? ['ada'] : keys).map((key) => take(key));
  return store.apply(steps).then(
    () => 'none',
    (error) => error.kind,
  );
}

describeOnEachServer('tells what is wrong', (start) => {
  const up = async (...args: string[]) => {
    const server = await start(...args);
    onTestFinished(() => server.kill());
    const client = clientOf(server);
    return { server, client };
  };

  it.each([
    ['oom', 'maxmemory 1'],
    ['noreplicas', 'min-replicas-to-write 1'],
  ])('%s, with %s', async (kind, setting) => {
    const { client } = await up();
    expect(await kindOf(client)).toBe('none');
    await client.call('CONFIG', 'SET', ...setting.split(' '));
    expect(await kindOf(client)).toBe(kind);
  });

  it('readonly, on a replica, and masterdown, on one that may not show old data', async () => {
    const { client } = await up();
    await client.call('REPLICAOF', '127.0.0.1', '1');
    expect(await kindOf(client)).toBe('readonly');
    const control = redisControl(client);
    onTestFinished(() => control.close());
    const change = control.set('api', { mode: 'off' }, { by: 'ada', because: 'a test' });
    await expect(change).rejects.toMatchObject({ kind: 'readonly' });
    await client.call('CONFIG', 'SET', 'replica-serve-stale-data', 'no');
    expect(await kindOf(client)).toBe('masterdown');
  });

  it('misconf, when it cannot save', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'spillway-misconf-'));
    onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
    const { client } = await up('--dir', dir, '--dbfilename', 'dump.rdb');
    mkdirSync(join(dir, 'dump.rdb'));
    writeFileSync(join(dir, 'dump.rdb', 'in-the-way'), '');
    await client.call('CONFIG', 'SET', 'save', '3600 1');
    await client.set('any', 'thing');
    await client.bgsave();
    await expect
      .poll(() => client.info('persistence'), { timeout: 20_000 })
      .toContain('rdb_last_bgsave_status:err');
    expect(await kindOf(client)).toBe('misconf');
  });

  it('noauth, on a connection that is not authenticated', async () => {
    const { server } = await up('--requirepass', 'secret');
    const client = clientOf(server, { password: 'secret' });
    expect(await kindOf(client)).toBe('none');
    await client.call('RESET');
    expect(await kindOf(client)).toBe('noauth');
  });

  it('noperm, for the call itself and for another prefix of keys', async () => {
    const { server, client } = await up();
    await client.acl('SETUSER', 'mute', 'on', '>secret', '~spw:*', '+@all', '-evalsha');
    await client.acl('SETUSER', 'other', 'on', '>secret', '~other:*', '+@all');
    for (const username of ['mute', 'other']) {
      expect(await kindOf(clientOf(server, { username, password: 'secret' }))).toBe('noperm');
    }
  });

  it('busy, while a script of somebody else runs', async () => {
    const { server, client } = await up();
    await client.call('CONFIG', 'SET', 'lua-time-limit', '1');
    const busy = clientOf(server).eval('while true do end', 0);
    const ended = expect(busy).rejects.toThrow(/killed/i);
    await expect.poll(() => kindOf(client), { timeout: 20_000 }).toBe('busy');
    await client.script('KILL');
    await ended;
    expect(await kindOf(client)).toBe('none');
  });

  it('loading, while it reads what its master sent', async () => {
    const { server, client } = await up(
      '--repl-diskless-sync-delay',
      '0',
      '--rdbcompression',
      'no',
    );
    const fill = "for i = 1, 5000 do redis.call('SET', 'k' .. i, string.rep('x', 2000)) end";
    await client.eval(fill, 0);
    const { client: replica } = await up('--key-load-delay', '500'); // microseconds for each key: 2.5 s in all
    await replica.call('REPLICAOF', '127.0.0.1', `${server.port}`);
    await expect.poll(() => kindOf(replica), { interval: 5, timeout: 20_000 }).toBe('loading');
  });

  it('clusterdown, without slots, and crossslot, for keys of several slots', async () => {
    const { client } = await up('--cluster-enabled', 'yes');
    expect(await kindOf(client)).toBe('clusterdown');
    await assignSlots([client]);
    await expect
      .poll(() => client.cluster('INFO'), { timeout: 20_000 })
      .toContain('cluster_state:ok');
    expect(await kindOf(client)).toBe('none');
    expect(await kindOf(client, 'ada', 'bob')).toBe('crossslot');
  });

  it('script, for a value that is not ours', async () => {
    const { client } = await up();
    await client.rpush(nameOf('ada'), 'x');
    expect(await kindOf(client)).toBe('script');
    await client.set(nameOf('ada'), 'x', 'EX', 60);
    expect(await kindOf(client)).toBe('script');
  });

  it('nothing, when it has lost the script: that is sent again', async () => {
    const { client } = await up();
    expect(await kindOf(client)).toBe('none');
    await client.script('FLUSH');
    expect(await kindOf(client)).toBe('none');
  });
});
