/** A Redis that has lost the live settings: they stay in force in every process until an operator decides. */

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

  /** As a process with the limiter `api`, which follows the settings. */
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
    await vi.waitFor(() => expect(other.control.overrideOf('api', 'eve')).toBeDefined(), soon);
    await announced();
    for (let round = 0; round < 2; round += 1) {
      await redis().flushall();
      await Promise.all([isLost(one), isLost(other)]);
      await announced();
    }
    for (const { control, faults } of [one, other]) {
      expect(control.settingsOf('api')).toEqual({ mode: 'off' });
      expect(control.overrideOf('api', 'eve')).toMatchObject({ verdict: 'block' });
      expect(faults.map(({ error }) => String(error))).toEqual([
        expect.stringContaining('Redis has lost the live settings'),
      ]);
      expect(faults[0]).toMatchObject({
        source: 'control',
        error: { code: 'SPW_SETTINGS_LOST' },
      });
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
    const silent = control({ client: connect(server.port), every: '50ms' });
    const lines = vi.spyOn(console, 'warn').mockImplementation(() => {});
    onTestFinished(() => lines.mockRestore());
    const one = await process(server.port);
    await one.control.set('api', { mode: 'off' }, forever);
    await silent.refresh();
    await server.kill();
    if (how === 'an empty replica') {
      const replica = await RedisServer.start(server.port, ['--save', '']);
      onTestFinished(() => replica.kill());
    } else {
      await server.start();
    }
    await isLost(one);
    expect(one.control.settingsOf('api')).toEqual({ mode: 'off' });
    // The line about the outage, seconds earlier, does not suppress the line about the loss.
    const told = () => lines.mock.calls.filter(([line]) => /lost the live settings/.test(line));
    await vi.waitFor(() => {
      silent.settingsOf('api');
      expect(told()).toHaveLength(1);
    }, soon);
  });

  const kept = async () =>
    (await control().list()).map(({ limiter, what }) => `${what} ${limiter}`);

  describe('is written to again by restore', () => {
    it('with the newest settings that any process has, and what was deleted stays deleted', async () => {
      const [old, fresh] = [control({ client: connect(), every: '1m' }), await process()];
      await fresh.control.set('api', { mode: 'off' }, forever);
      await fresh.control.block('api', 'eve', forever);
      await old.refresh();
      await fresh.control.clearKey('api', 'eve', ada);
      await fresh.control.set('api', { share: 0.1 }, { ...ada, for: '1s' });
      await fresh.control.limitKey('api', 'ann', { factor: 0.1 + 0.2 }, forever);
      await redis().flushall();
      await old.refresh(); // this control offers an older revision, which has the block
      await isLost(fresh);
      await vi.waitFor(async () => {
        await old.refresh();
        expect(old.overrideOf('api', 'eve')).toBeUndefined();
      }, soon);
      await new Promise((resolve) => setTimeout(resolve, 1_000)); // the share ends by Redis's clock
      expect(await control().restore(ada)).toEqual({ restored: 2, refused: null });
      const restored = await control().list();
      expect(restored.map(({ what }) => what).sort()).toEqual(['key-limits', 'mode']);
      for (const one of restored) expect(one).toMatchObject({ by: 'ada', untilMs: null });
      expect(restored.every(({ restoredAtMs = 0 }) => Date.now() - restoredAtMs < 60_000)).toBe(
        true,
      );
      expect(fresh.control.limitsOf?.('api', 'ann')).toEqual({ factor: 0.1 + 0.2 });
      await vi.waitFor(() => expect(fresh.control.settingsLost).toBe(false), soon);
      expect((await control().history()).length).toBe(2);
      expect(await control().restore(ada)).toEqual({ restored: 0, refused: 'none-kept' });
      expect(fresh.faults).toHaveLength(1);
    });

    it('and by any other change, so that it ends nothing that is in force', async () => {
      const one = await process();
      await one.control.set('api', { mode: 'off' }, forever);
      await redis().flushall();
      await isLost(one);
      await vi.waitFor(async () => expect(await kept()).toEqual(['mode api']), soon);
      await control().block('api', 'eve', ada);
      expect((await kept()).sort()).toEqual(['key api', 'mode api']);
    });

    it('but not over what was set in another data set, unless that is meant', async () => {
      const one = await process();
      await one.control.set('api', { mode: 'off' }, forever);
      await redis().multi().flushall().exec();
      await control().set('other', { mode: 'shadow' }, forever);
      await vi.waitFor(() => expect(one.control.settingsOf('api')).toBeUndefined(), soon);
      expect(String(one.faults.at(-1)?.error)).toContain('another set of live settings');
      const restored = () => control().restore(ada);
      await vi.waitFor(async () => expect((await restored()).refused).toBe('other-settings'), soon);
      expect(await kept()).toEqual(['mode other']);
      expect((await control().restore(ada, { force: true })).restored).toBe(1);
      expect(await kept()).toEqual(['mode api']);
    });

    it('a replica with older settings is followed, told, and brought up to date', async () => {
      const one = await process();
      await one.control.set('api', { mode: 'shadow' }, forever);
      const dump = (await redis().keys('spw:*')).filter((key) => /(settings|revision)$/.test(key));
      const before = await Promise.all(dump.map((key) => redis().dumpBuffer(key)));
      await one.control.set('api', { mode: 'off' }, forever);
      const replaced = redis().multi();
      for (const [i, key] of dump.entries())
        replaced.restore(key, 0, before[i] as Buffer, 'REPLACE');
      await replaced.exec();
      await vi.waitFor(() => expect(one.control.settingsOf('api')?.mode).toBe('shadow'), soon);
      expect(one.faults.map(({ error }) => String(error))).toEqual([
        expect.stringContaining('older live settings than this process had (1)'),
      ]);
      const restored = () => control().restore(ada);
      await vi.waitFor(async () => expect((await restored()).restored).toBe(1), soon);
      await vi.waitFor(() => expect(one.control.settingsOf('api')?.mode).toBe('off'), soon);
    });
  });

  it('gives a process that starts then the settings that others follow', async () => {
    const one = await process();
    await one.control.set('api', { mode: 'off' }, forever);
    await redis().flushall();
    await vi.waitFor(async () => expect(await kept()).toEqual(['mode api']), soon);
    const late = await process();
    expect(late.control.settingsOf('api')).toEqual({ mode: 'off' });
    expect(late.control.settingsLost).toBe(true);
    expect(late.faults).toEqual([]);
  });

  it('is empty again, for every process, after clearAll', async () => {
    const [one, other] = [await process(), await process()];
    await one.control.set('api', { mode: 'off' }, forever);
    await vi.waitFor(() => expect(other.control.settingsOf('api')).toBeDefined(), soon);
    await redis().flushall();
    await Promise.all([isLost(one), isLost(other)]);
    await vi.waitFor(async () => expect(await kept()).toEqual(['mode api']), soon);
    await control().clearAll(ada);
    for (const { control, faults } of [one, other]) {
      await vi.waitFor(() => expect(control.settingsOf('api')).toEqual(undefined), soon);
      expect(control.settingsLost).toBe(false);
      expect(faults).toHaveLength(1);
    }
    const both = await control().history();
    expect(both).toEqual([]); // the lost settings are not in the history
    await one.control.set('api', { mode: 'off' }, forever);
    await one.control.clearAll(ada);
    expect(await kept()).toEqual([]);
    expect(await control().history()).toMatchObject([{ before: 'off', after: null }, {}]);
  });

  describe('with junk of somebody else in it', () => {
    it.each([
      ['a label', { '!': '1 99999999999999999999 x' }],
      ['a revision above 2^53', { '!': '1 9999999999999999 x', 'mode ["api"]': 'junk' }],
      ['no label', { 'mode ["api"]': 'junk' }],
    ])('%s: the process keeps what it has', async (_, fields) => {
      const one = await process();
      await one.control.set('api', { mode: 'off' }, forever);
      await redis().multi().flushall().hset('spw:{%control}kept', fields).exec();
      await isLost(one);
      expect(one.control.settingsOf('api')).toEqual({ mode: 'off' });
    });

    it.each(['9999999999999999', '9'.repeat(400), 'junk', ''])(
      'the revision %j ends with the next change, which every process follows',
      async (junk) => {
        const one = await process();
        await one.control.set('api', { mode: 'off' }, forever);
        await redis().set('spw:{%control}revision', junk);
        for (const mode of ['shadow', 'enforce', 'off'] as const) {
          await control().set('api', { mode }, ada);
          await vi.waitFor(() => expect(one.control.settingsOf('api')).toEqual({ mode }), soon);
        }
      },
    );
  });
});
