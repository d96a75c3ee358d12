/** A broken custom control: requests are decided as declared, and faults are reported. */

import { type Control, concurrencyLimit, memoryStore, rateLimit } from '@spillway/core';
import { Tally } from '@spillway/core/adapter';
import { liveControl } from '@spillway/core/control';
import { describe, expect, it } from 'vitest';
import { setUp, two } from '../guard-set-up.js';

const nothing: Control = { settingsOf: () => undefined, overrideOf: () => undefined };
const throwing = () => {
  throw new Error('bug');
};

function under(control: Partial<Record<keyof Control, unknown>>, limiter = rateLimit(two)) {
  return setUp(limiter, { control: liveControl({ ...nothing, ...control } as Control) });
}

describe('a control that is broken', () => {
  it.each<[string, Partial<Record<keyof Control, unknown>>]>([
    ['throws of settings', { settingsOf: throwing }],
    ['throws of keys', { overrideOf: throwing }],
    [
      'throws where it is looked at',
      { settingsOf: () => Object.defineProperty({}, 'mode', { get: throwing }) },
    ],
    ['knows an unknown mode', { settingsOf: () => ({ mode: 'of' }) }],
    ['has a share that is no number', { settingsOf: () => ({ share: '0' }) }],
    ['has a share of NaN', { settingsOf: () => ({ share: Number.NaN }) }],
    ['has a share below 0', { settingsOf: () => ({ share: -1 }) }],
    ['has no limits but a number', { settingsOf: () => ({ limits: 1_000 }) }],
    ['has no limits but null', { settingsOf: () => ({ limits: null }) }],
    ['has a limit of 0', { settingsOf: () => ({ limits: { limit: 0 } }) }],
    ['has unknown limits', { settingsOf: () => ({ limits: { max: 1_000 } }) }],
    ['has settings that are text', { settingsOf: () => 'off' }],
    ['rules what nobody knows', { overrideOf: () => ({ verdict: 'ban', endsInMs: 1 }) }],
    ['rules without an end', { overrideOf: () => ({ verdict: 'allow' }) }],
    ['rules for no time', { overrideOf: () => ({ verdict: 'allow', endsInMs: 0 }) }],
    ['rules until a text', { overrideOf: () => ({ verdict: 'block', endsInMs: '1000' }) }],
    ['rules in text', { overrideOf: () => 'allow' }],
    ['throws of limits of keys', { limitsOf: throwing }],
    ['has limits of a key that are text', { limitsOf: () => 'much' }],
    ['has limits of a key that are none', { limitsOf: () => ({ limit: 0 }) }],
    ['has a factor of NaN for a key', { limitsOf: () => ({ factor: Number.NaN }) }],
    ['has a factor beside a limit for a key', { limitsOf: () => ({ factor: 2, limit: 9 }) }],
  ])('because it %s: as declared, and a fault', (_, control) => {
    const { admit, faults } = under(control);
    expect([admit(), admit(), admit()].map((one) => one.status)).toEqual([200, 200, 429]);
    expect(faults[0]).toMatchObject({ limiter: 'two', source: 'control' });
    expect(new Set(faults.map(({ source }) => source))).toEqual(new Set(['control']));
  });

  it.each(['settingsOf', 'overrideOf'])('is refused where it is given without %s', (method) => {
    expect(() => under({ [method]: undefined })).toThrow(
      `control must be an object with ${method}()`,
    );
  });

  it('fails neither a guard nor a scrape if it cannot say whether settings were lost', () => {
    const control = liveControl({
      ...nothing,
      get settingsLost(): boolean {
        return throwing();
      },
    });
    const tally = new Tally();
    const { admit, faults } = setUp(rateLimit(two), { control, observers: [tally] });
    expect([admit(), admit(), admit()].map((one) => one.status)).toEqual([200, 200, 429]);
    expect(faults).toEqual([]);
    expect(tally.lostControls).toBe(1);
  });

  it('is not taken to enforce what was declared in shadow', () => {
    const { admit } = under(
      { settingsOf: () => ({ mode: 'of' }) },
      rateLimit({ ...two, mode: 'shadow' }),
    );
    expect([admit(), admit(), admit()].map((one) => one.allowed)).toEqual([true, true, true]);
  });

  it('is obeyed in what it says right', () => {
    const { admit } = under({ settingsOf: () => ({ mode: 'shadow', share: 'x' }) });
    expect([admit(), admit(), admit()].map((one) => one.allowed)).toEqual([true, true, true]);
  });

  it('is told once as long as it says the same', () => {
    const settings = { mode: 'of' };
    const { admit, faults } = under({ settingsOf: () => settings });
    admit();
    admit();
    expect(faults).toHaveLength(1);
  });

  it('holds for limits on requests in progress too', () => {
    const { admit } = under(
      { settingsOf: () => ({ limits: { limit: -1 } }) },
      concurrencyLimit({ name: 'two', limit: 1 }),
    );
    const first = admit();
    expect(admit().allowed).toBe(false);
    first.release({ status: 200 });
    expect(admit().allowed).toBe(true);
  });

  it('never has its promise taken for settings', async () => {
    const store = memoryStore();
    const { admit } = setUp(rateLimit(two), {
      store,
      control: liveControl({
        ...nothing,
        settingsOf: async () => ({ mode: 'off' }),
      } as unknown as Control),
    });
    expect([admit(), admit(), admit()].map((one) => one.allowed)).toEqual([true, true, false]);
  });
});
