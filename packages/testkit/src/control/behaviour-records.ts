import { describe, expect, it } from 'vitest';
import { ada, type Make } from './any-control.js';

export function keepsRecords(make: Make): void {
  describe('the list and the history', () => {
    it('name who, why, since when and until when', async () => {
      const control = await make();
      await control.set('api', { mode: 'off', share: 0.1 }, { ...ada, for: '10m' });
      await control.set('api', { limits: { limit: 7, window: '1m' } }, { ...ada, for: 'forever' });
      await control.allow('api', 'bob', ada);
      const list = await control.list();
      const told = list.map(({ what, value, atMs, untilMs }) => [
        what,
        value,
        untilMs === null ? null : Math.round(untilMs - atMs),
      ]);
      expect(told.sort()).toEqual([
        ['key', 'allow', 3_600_000],
        ['limits', { limit: 7, window: '1m' }, null],
        ['mode', 'off', 600_000],
        ['share', 0.1, 600_000],
      ]);
      expect(list.every((one) => one.limiter === 'api' && one.by === 'ada')).toBe(true);
      expect(list.every((one) => one.because === 'a test')).toBe(true);
    });

    it('show each change with what was before and after, latest first, and keep it', async () => {
      const control = await make();
      await control.set('api', { mode: 'shadow' }, ada);
      await control.set('api', { mode: 'off' }, { by: 'bob', because: 'night', for: '10m' });
      await control.clear('api', { by: 'eve', because: 'morning' });
      await control.clear('api', { by: 'eve', because: 'again: nothing to clear' });
      await control.block('api', 'mallory', ada);
      const history = await control.history();
      expect(history).toMatchObject([
        { what: 'key', key: 'mallory', before: null, after: 'block' },
        { by: 'eve', because: 'morning', before: 'off', after: null, untilMs: null },
        { by: 'bob', because: 'night', before: 'shadow', after: 'off' },
        { limiter: 'api', what: 'mode', by: 'ada', before: null, after: 'shadow' },
      ]);
      const ids = history.map(({ id }) => id);
      expect(ids).toEqual([...ids].sort((a, b) => b - a));
      expect(new Set(ids).size).toBe(4);
      expect(history[2]?.untilMs).toBe((history[2]?.atMs ?? 0) + 600_000);
    });

    it('keep what was set, whatever its caller makes of the object later', async () => {
      const control = await make();
      const limits = { limit: 7 };
      await control.set('api', { limits }, ada);
      await control.limitKey('api', 'acme', limits, ada);
      limits.limit = 8;
      const kept = { limit: 7 };
      expect((await control.list()).map(({ value }) => value)).toEqual([kept, kept]);
      expect((await control.history()).map(({ after }) => after)).toEqual([kept, kept]);
      expect(control.settingsOf('api')?.limits).toEqual(kept);
    });

    it('keep the latest thousand changes', async () => {
      const control = await make();
      for (let i = 0; i < 1_005; i += 1) {
        await control.set('api', { share: i / 10_000 }, ada);
      }
      const history = await control.history();
      expect(history).toHaveLength(1_000);
      expect(history[0]).toMatchObject({ after: 0.1004, before: 0.1003 });
    });
  });

  describe('refuses', () => {
    it.each<[string, unknown]>([
      ['SPW_OPTION_INVALID', { mode: 'of' }],
      ['SPW_OPTION_INVALID', { share: 1.1 }],
      ['SPW_OPTION_INVALID', { share: '0.1' }],
      ['SPW_OPTION_INVALID', { share: Number.NaN }],
      ['SPW_OPTION_INVALID', {}],
      ['SPW_OPTION_INVALID', { modus: 'off' }],
      ['SPW_OPTION_INVALID', 'off'],
      ['SPW_OPTION_INVALID', { limits: {} }],
      ['SPW_OPTION_INVALID', { limits: { limits: 3 } }],
      ['SPW_LIMIT_INVALID', { limits: { limit: 0 } }],
      ['SPW_WINDOW_INVALID', { limits: { window: '1y' } }],
      ['SPW_BURST_INVALID', { limits: { burst: 1.5 } }],
    ])('with %s the settings %j, and changes nothing', async (code, settings) => {
      const control = await make();
      await expect((async () => control.set('api', settings as object, ada))()).rejects.toThrow(
        code,
      );
      expect(await control.list()).toEqual([]);
      expect(await control.history()).toEqual([]);
    });

    it.each<[string, object]>([
      ['nobody', { by: '', because: 'x' }],
      ['no reason', { by: 'ada', because: ' ' }],
      ['no reason at all', { by: 'ada' }],
      ['control characters', { by: 'ada', because: '\u001b[2J' }],
      ['no duration', { ...ada, for: '10' }],
      ['an instant', { ...ada, for: '999ms' }],
      ['more than a month', { ...ada, for: '31d' }],
    ])('%s as author, reason or duration', async (_, note) => {
      const control = await make();
      await expect(
        (async () => control.set('api', { mode: 'off' }, note as typeof ada))(),
      ).rejects.toThrow('SPW_OPTION_INVALID');
    });

    it('a note that is none, or says something else, by a sentence', async () => {
      const control = await make();
      const setWith = (note: unknown) => async () =>
        control.set('api', { mode: 'off' }, note as typeof ada);
      await expect(setWith({ ...ada, until: '30d' })()).rejects.toThrow(
        'a name in the note must be one of by, because, for, got "until" (SPW_OPTION_INVALID)',
      );
      await expect(setWith(undefined)()).rejects.toThrow(
        'the note must be an object, got undefined (SPW_OPTION_INVALID)',
      );
    });

    it('to clear nothing', async () => {
      const control = await make();
      await control.set('api', { mode: 'off' }, ada);
      await expect((async () => control.clear('api', ada, []))()).rejects.toThrow(
        'only must name one of mode, share, limits (SPW_OPTION_INVALID)',
      );
    });

    it('names and keys that no limiter has', async () => {
      const control = await make();
      const off = { mode: 'off' } as const;
      await expect((async () => control.set('', off, ada))()).rejects.toThrow('SPW_NAME_INVALID');
      await expect((async () => control.set('é', off, ada))()).rejects.toThrow('SPW_NAME_INVALID');
      await expect((async () => control.block('a', '', ada))()).rejects.toThrow('SPW_KEY_INVALID');
      await expect((async () => control.block('a', 'k'.repeat(1_025), ada))()).rejects.toThrow(
        'SPW_KEY_INVALID',
      );
      await expect((async () => control.set('*', { limits: { limit: 1 } }, ada))()).rejects.toThrow(
        'SPW_OPTION_INVALID',
      );
    });
  });
}
