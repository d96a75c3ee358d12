/** A control whose Redis holds invalid values, is down, or has lost its data. */

import { createGuard, type Fault, rateLimit } from '@spillway/core';
import { systemClock } from '@spillway/core/store';
import { request } from 'spillway-testkit';
import { ada } from 'spillway-testkit/control';
import { redisProgram, startServer } from 'spillway-testkit/redis';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { Bridge } from '../asking.js';
import { redisForControls, SETTINGS, soon } from './set-up.js';

describe.skipIf(redisProgram === null)('the control in Redis', () => {
  const { redis, connect, control } = redisForControls();

  describe('with junk in Redis', () => {
    it.each<[string, string, string]>([
      ['an unknown mode', 'mode ["api"]', '1 1 0 {"value":"of","by":"x","because":"y"}'],
      ['a limit of 0', 'limits ["api"]', '1 1 0 {"value":{"limit":0},"by":"x","because":"y"}'],
      ['a share of 2', 'share ["api"]', '1 1 0 {"value":2}'],
      ['a factor beside a limit', 'limits ["api"]', '1 1 0 {"value":{"factor":2,"limit":3}}'],
      [
        'a part of limits that is not known',
        'limits ["api"]',
        '1 1 0 {"value":{"limit":3,"pool":9}}',
      ],
      ['limits of no key', 'key-limits ["api"]', '1 1 0 {"value":{"limit":3}}'],
      ['limits of a key that are none', 'key-limits ["api","k"]', '1 1 0 {"value":{"limit":0}}'],
      ['a later format', 'mode ["api"]', '2 {"value":"off"}'],
      ['no JSON', 'mode ["api"]', '1 1 0 {off}'],
      ['nothing', 'mode ["api"]', ''],
      ['an unknown field', 'colour ["api"]', '1 1 0 {"value":"red"}'],
      ['a field that is none', '__proto__', '1 1 0 {"value":"off"}'],
      ['a field of another spelling', 'mode [ "api" ]', '1 1 0 {"value":"off"}'],
    ])('%s is as declared, told once, and hides nothing else', async (_, field, value) => {
      const faults: Fault[] = [];
      const reader = control({ onFault: (fault) => faults.push(fault) });
      await redis().hset(SETTINGS, field, value);
      await control().set('other', { mode: 'shadow' }, ada);
      await reader.refresh();
      expect(reader.settingsOf('api')).toBeUndefined();
      expect(reader.settingsOf('other')).toEqual({ mode: 'shadow' });
      await control().set('other', { mode: 'off' }, ada);
      await reader.refresh();
      expect(reader.settingsOf('other')).toEqual({ mode: 'off' });
      expect(faults).toMatchObject([{ source: 'control' }]);
    });

    it('thousands of a later release are told as one', async () => {
      const faults: Fault[] = [];
      const reader = control({ onFault: (fault) => faults.push(fault) });
      const fill = `for i = 1, 5000 do redis.call('HSET', KEYS[1], 'pace ["api","k' .. i .. '"]', '1 1 0 {}') end`;
      await redis().eval(fill, 1, SETTINGS);
      await control({ onFault: () => {} }).set('api', { mode: 'off' }, ada);
      await reader.refresh();
      expect(reader.settingsOf('api')).toEqual({ mode: 'off' });
      expect(faults).toHaveLength(1);
      expect(String(faults[0]?.error)).toContain('5000 live settings are invalid and ignored');
    });

    it('a key of another type fails the change, whole', async () => {
      await redis().set('spw:{%control}history', 'x');
      await expect(control().set('api', { mode: 'off' }, ada)).rejects.toThrow('SPW_STORE_ERROR');
      expect(await redis().exists(SETTINGS)).toBe(0);
    });

    it('entries of history that nobody can read are left out', async () => {
      const writer = control();
      await writer.set('api', { mode: 'off' }, ada);
      await redis().lpush('spw:{%control}history', 'junk', '1 []', '2 {}');
      expect(await writer.history()).toMatchObject([{ limiter: 'api', after: 'off' }]);
    });
  });

  describe('when Redis is away', () => {
    it('keeps the last settings, lets them end, tells once, and follows again', async () => {
      const own = await startServer();
      onTestFinished(() => own.kill());
      const bridge = await Bridge.to(own.port);
      const now = systemClock.nowUs.bind(systemClock);
      onTestFinished(() => void vi.restoreAllMocks());
      const faults: Fault[] = [];
      const client = connect(bridge.port, { maxRetriesPerRequest: 0 });
      const reader = control({ client, every: '50ms', onFault: (fault) => faults.push(fault) });
      const writer = control({ client: connect(own.port) });
      await writer.set('api', { mode: 'off' }, { ...ada, for: '20m' });
      await writer.set('api', { share: 0.5 }, { ...ada, for: 'forever' });
      await vi.waitFor(
        () => expect(reader.settingsOf('api')).toEqual({ mode: 'off', share: 0.5 }),
        soon,
      );
      await bridge.cut();
      await vi.waitFor(() => {
        reader.settingsOf('api');
        expect(faults).not.toEqual([]);
      }, soon);
      expect(reader.settingsOf('api')).toEqual({ mode: 'off', share: 0.5 });
      const halfAnHourUs = 1_800_000_000;
      vi.spyOn(systemClock, 'nowUs').mockImplementation(() => now() + halfAnHourUs);
      expect(reader.settingsOf('api')).toEqual({ share: 0.5 });
      await writer.set('api', { mode: 'shadow' }, ada);
      await bridge.mend();
      await vi.waitFor(() => expect(reader.settingsOf('api')?.mode).toBe('shadow'), soon);
      expect(faults).toHaveLength(1);
    });

    it('says so to whoever changes something, and answers guards at once', async () => {
      const client = connect(1, { lazyConnect: true, retryStrategy: () => null });
      const away = control({ client });
      expect(away.settingsOf('api')).toBeUndefined();
      await expect(away.set('api', { mode: 'off' }, ada)).rejects.toThrow('SPW_STORE_UNAVAILABLE');
      await expect(away.list()).rejects.toThrow('SPW_STORE_UNAVAILABLE');
      expect(await away.refresh()).toBe(false);
      const guard = createGuard(rateLimit({ name: 'api', limit: 1, window: '1m' }), {
        control: away,
      });
      expect(guard.admit(request())).toMatchObject({ allowed: true });
    });
  });

  it('notices that all data were lost and set anew between two looks', async () => {
    const [writer, reader] = [control(), control({ client: connect() })];
    await writer.set('api', { mode: 'off' }, ada);
    await reader.refresh();
    await redis().flushall();
    await writer.set('api', { mode: 'shadow' }, ada);
    await reader.refresh();
    expect(reader.settingsOf('api')).toEqual({ mode: 'shadow' });
  });
});
