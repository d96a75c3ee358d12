/** A Redis that has lost the live settings: they stay in force in every process until somebody decides. */

import type { Fault } from '@spillway/core';
import { makeRule } from '@spillway/core/store';
import { ada } from 'spillway-testkit/control';
import { RedisServer, redisProgram, startServer } from 'spillway-testkit/redis';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { redisForControls, soon } from './set-up.js';

const rule = makeRule('token-bucket', 100, 60_000_000);
const forever = { ...ada, for: 'forever' } as const;

describe.skipIf(redisProgram === null)('a Redis that has lost the live settings', () => {
  const { redis, connect, control } = redisForControls();

  /** As a process with the limiter `api`: it follows what is set. */
  async function process(port?: number) {
    const faults: Fault[] = [];
    const onFault = (fault: Fault) => void faults.push(fault);
    const made = control({ client: connect(port), every: '50ms', onFault });
    made.register?.('api', rule);
    await made.refresh();
    return { control: made, faults };
  }

  const isLost = async (one: { control: { settingsLost: boolean } }) =>
    await vi.waitFor(() => expect(one.control.settingsLost).toBe(true), soon);

  const announced = async () =>
    await vi.waitFor(async () => {
      expect((await control().limiters()).map(({ name }) => name)).toEqual(['api']);
      expect(await control().followers()).toHaveLength(2);
    }, soon);

  it('leaves them in force in every process, which says so once and announces itself again', async () => {
    const [one, other] = [await process(), await process()];
    await one.control.set('api', { mode: 'off' }, forever);
    await one.control.block('api', 'eve', { ...ada, for: '1d' });
    await vi.waitFor(() => expect(other.control.rulingOn('api', 'eve')).toBeDefined(), soon);
    await announced();
    for (let round = 0; round < 2; round += 1) {
      await redis().flushall();
      await Promise.all([isLost(one), isLost(other)]);
      await announced();
    }
    for (const { control, faults } of [one, other]) {
      expect(control.settingsOf('api')).toEqual({ mode: 'off' });
      expect(control.rulingOn('api', 'eve')).toMatchObject({ verdict: 'block' });
      expect(faults.map(({ error }) => String(error))).toEqual([
        expect.stringContaining('Redis has lost the live settings'),
      ]);
      expect(faults[0]?.source).toBe('control');
    }
  });

  it('lets them end when they should', async () => {
    const one = await process();
    await one.control.set('api', { mode: 'off' }, { ...ada, for: '1s' });
    await redis().flushall();
    await isLost(one);
    expect(one.control.settingsOf('api')).toEqual({ mode: 'off' });
    await vi.waitFor(() => expect(one.control.settingsOf('api')).toBeUndefined(), soon);
  });

  it('where nothing was set: processes announce themselves again, and say nothing', async () => {
    const [one, other] = [await process(), await process()];
    await announced();
    await redis().flushall();
    await announced();
    expect([...one.faults, ...other.faults]).toEqual([]);
    expect(one.control.settingsLost).toBe(false);
  });

  it.each(['a restart without persistence', 'an empty replica'])('by %s', async (how) => {
    const server = await startServer(undefined, '--save', '');
    onTestFinished(() => server.kill());
    const one = await process(server.port);
    await one.control.set('api', { mode: 'off' }, forever);
    await server.kill();
    if (how === 'an empty replica') {
      const replica = await RedisServer.start(server.port, ['--save', '']);
      onTestFinished(() => replica.kill());
    } else {
      await server.start();
    }
    await isLost(one);
    expect(one.control.settingsOf('api')).toEqual({ mode: 'off' });
  });
});
