import { memoryControl } from '@spillway/core';
import { checkSetting } from '@spillway/core/control';
import { ManualClock } from '@spillway/core/testing';
import { ada, behavesAsControl } from 'spillway-testkit/control';
import { describe, expect, it } from 'vitest';

describe('the control in memory', () => {
  behavesAsControl(() => memoryControl());

  describe('lets overrides end', () => {
    it('after an hour unless told otherwise, to the microsecond, each by itself', () => {
      const clock = new ManualClock();
      const control = memoryControl({ clock });
      control.set('api', { mode: 'off' }, ada);
      control.set('api', { share: 0.5 }, { ...ada, for: '30m' });
      control.block('api', 'eve', { ...ada, for: '30m' });
      clock.advance('29m');
      expect(control.overrideOf('api', 'eve')).toEqual({ verdict: 'block', endsInMs: 60_000 });
      clock.advance(59_999.999);
      expect(control.settingsOf('api')).toEqual({ mode: 'off', share: 0.5 });
      clock.advance(0.001);
      expect(control.settingsOf('api')).toEqual({ mode: 'off' });
      expect(control.overrideOf('api', 'eve')).toBeUndefined();
      clock.advance('30m');
      expect(control.settingsOf('api')).toBeUndefined();
      expect(control.list()).toEqual([]);
    });

    it('never, if told so', () => {
      const clock = new ManualClock();
      const control = memoryControl({ clock });
      control.set('api', { mode: 'off' }, { ...ada, for: 'forever' });
      clock.advance('400d');
      expect(control.settingsOf('api')).toEqual({ mode: 'off' });
      expect(control.list()).toMatchObject([{ untilMs: null }]);
    });

    it('so that what was set for all limiters shows again behind what was set for one', () => {
      const clock = new ManualClock();
      const control = memoryControl({ clock });
      control.set('*', { mode: 'off' }, ada);
      control.set('api', { mode: 'shadow' }, { ...ada, for: '1m' });
      expect(control.settingsOf('api')).toEqual({ mode: 'shadow' });
      clock.advance('1m');
      expect(control.settingsOf('api')).toEqual({ mode: 'off' });
    });

    it('also between two looks at the clock', () => {
      let nowUs = 0;
      let stepUs = 0;
      const control = memoryControl({
        clock: {
          nowUs() {
            nowUs += stepUs;
            return nowUs;
          },
        },
      });
      control.block('api', 'eve', { ...ada, for: '1s' });
      nowUs = 999_998;
      stepUs = 1;
      expect(control.overrideOf('api', 'eve')?.endsInMs ?? Infinity).toBeGreaterThan(0);
      expect(control.overrideOf('api', 'eve')).toBeUndefined();
    });

    it('and tells the next change that nothing was set', () => {
      const clock = new ManualClock();
      const control = memoryControl({ clock });
      control.set('api', { mode: 'off' }, { ...ada, for: '1m' });
      clock.advance('1m');
      control.set('api', { mode: 'shadow' }, ada);
      expect(control.history()[0]).toMatchObject({ before: null, after: 'shadow' });
    });
  });

  it('gives the same settings object until something is changed', () => {
    const control = memoryControl();
    control.set('api', { limits: { limit: 3 } }, ada);
    const before = control.settingsOf('api');
    expect(control.settingsOf('api')).toBe(before);
    control.set('other', { mode: 'off' }, ada);
    expect(control.settingsOf('api')).toBe(before);
    control.set('api', { mode: 'off' }, ada);
    expect(control.settingsOf('api')).not.toBe(before);
    expect(control.settingsOf('api')?.limits).toBe(before?.limits);
  });

  it('tells the latest reset of a key, whether of its limiter or of all', () => {
    const clock = new ManualClock();
    const control = memoryControl({ clock });
    const resetMs = () => control.resetsOf?.('api').get('ada');
    control.forget('api', 'ada', ada);
    const firstMs = resetMs() as number;
    clock.advance('10s');
    control.forget('*', 'ada', ada);
    expect(resetMs()).toBe(firstMs + 10_000);
    clock.advance('10s');
    control.forget('api', 'ada', ada);
    expect(resetMs()).toBe(firstMs + 20_000);
  });

  it('does not follow an object that its giver changes later', () => {
    const control = memoryControl();
    const limits = { limit: 3 };
    control.set('api', { limits }, ada);
    limits.limit = 0;
    expect(control.settingsOf('api')).toEqual({ limits: { limit: 3 } });
  });

  it('takes changes although its object is frozen', () => {
    const control = Object.freeze(memoryControl());
    control.set('api', { mode: 'off' }, ada);
    control.block('api', 'eve', ada);
    expect(control.settingsOf('api')).toEqual({ mode: 'off' });
    expect(control.history().map(({ what }) => what)).toEqual(['key', 'mode']);
  });

  it('lists what nobody can change but through it', () => {
    const control = memoryControl();
    control.set('api', { mode: 'off' }, ada);
    control.set('api', { limits: { limit: 3 } }, ada);
    for (const entry of [...control.list(), ...control.history()]) {
      const changed = Object.assign<object, object>;
      expect(() => changed(entry, { untilMs: 0 })).toThrow(TypeError);
      const values = Object.values(entry).filter((value) => typeof value === 'object' && value);
      for (const value of values) expect(() => changed(value, { limit: 0 })).toThrow(TypeError);
    }
    expect(control.settingsOf('api')).toEqual({ mode: 'off', limits: { limit: 3 } });
  });

  it('holds ten thousand overrides and no more', () => {
    const control = memoryControl();
    for (let i = 0; i < 10_000; i += 1) control.block('api', `key-${i}`, ada);
    expect(() => control.block('api', 'one more', ada)).toThrow('SPW_OPTION_INVALID');
    control.block('api', 'key-7', ada); // has its place already
    control.clearKey('api', 'key-8', ada);
    control.block('api', 'one more', ada);
    expect(control.list()).toHaveLength(10_000);
  });
});

it('what is set is one of a list, and a reset is in it', () => {
  expect(() => checkSetting({ what: 'reset', key: 'ada', value: 'reset' })).not.toThrow();
  expect(() => checkSetting({ what: 'pace', value: 1 } as never)).toThrow(
    'what is set must be mode, share, limits, key, key-limits or reset, got "pace"',
  );
});
