/** Which servers the tests run on. */

import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { describeOnEachServer } from 'spillway-testkit/redis';
import { findRedis, findServers } from 'spillway-testkit/redis-process';
import { expect, it, onTestFinished, vi } from 'vitest';
import setup from '../packages/testkit/src/redis-global-setup.js';

const VARIABLE = 'SPILLWAY_REDIS_SERVER';

function tell(program: string | undefined): void {
  vi.stubEnv(VARIABLE, program);
  onTestFinished(() => void vi.unstubAllEnvs());
}

it.each(['', '/nowhere/redis-server', process.execPath])(
  'fails where SPILLWAY_REDIS_SERVER is "%s", which is no server',
  (program) => {
    tell(program);
    expect(findRedis).toThrow(`${VARIABLE} is no server that can be run: "${program}"`);
    expect(findServers).toThrow(VARIABLE);
  },
);

it('takes the server of SPILLWAY_REDIS_SERVER and no other', () => {
  const folder = mkdtempSync(join(tmpdir(), 'spillway-servers-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const program = join(folder, 'any-name');
  writeFileSync(program, '#!/bin/sh\necho "Valkey server v=8.99.1 sha=0"\n', { mode: 0o755 });
  tell(program);
  expect(findRedis()).toBe(program);
  expect(findServers()).toEqual([{ name: 'Valkey 8.99.1', program }]);
});

it('without it takes each server once, that of PATH first', () => {
  tell(undefined);
  const servers = findServers();
  expect(servers[0]?.program ?? null).toBe(findRedis());
  expect(new Set(servers.map(({ name }) => name)).size).toBe(servers.length);
  for (const { program } of servers.slice(1)) expect(existsSync(program)).toBe(true);
});

it('installs none beside that of REDIS_URL', async () => {
  tell(undefined);
  const nowhere = { PATH: '/nowhere', REDIS_URL: 'redis://a:1', SPILLWAY_REQUIRE_REDIS: '' };
  vi.stubEnv('SPILLWAY_NO_INSTALL', '');
  for (const [name, value] of Object.entries(nowhere)) vi.stubEnv(name, value);
  const said = vi.spyOn(console, 'warn').mockReturnValue(undefined);
  vi.spyOn(console, 'info').mockReturnValue(undefined);
  vi.spyOn(process, 'getuid').mockReturnValue(0);
  onTestFinished(() => void vi.restoreAllMocks());
  const provided: Record<string, unknown> = {};
  const provide = (name: string, value: unknown) => void Object.assign(provided, { [name]: value });
  await setup({ provide } as never);
  expect(said).not.toHaveBeenCalled();
  expect(provided).toMatchObject({ redisUrl: 'redis://a:1', redisProgram: null });
});

describeOnEachServer('is the server that it is called', (start) => {
  it('by its own word', async () => {
    const server = await start();
    const client = new Redis(server.port);
    onTestFinished(async () => {
      client.disconnect();
      await server.kill();
    });
    const info = await client.info('server');
    const version = /^(?:valkey|redis)_version:(.+?)\r?$/gm;
    const said = [...info.matchAll(version)].map(([, number]) => number);
    expect(expect.getState().currentTestName).toContain(said.at(-1));
  });
});
