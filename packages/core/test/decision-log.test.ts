/** A log of decisions: how much is written, and what is omitted. */

import {
  concurrencyLimit,
  type DecisionLogEntry,
  type DecisionLogOptions,
  decisionLog,
  type Fault,
  rateLimit,
} from '@spillway/core';
import { describe, expect, it } from 'vitest';
import { setUp } from './guard-set-up.js';

const SECRET = 'a secret of the tests';

/** Numbers that look random: 0, 0.01, ... 0.99, always in the same order. */
function draws(): () => number {
  let next = 0;
  return () => {
    next = (next + 37) % 100;
    return next / 100;
  };
}

function logged(options: Partial<DecisionLogOptions> = {}) {
  const entries: DecisionLogEntry[] = [];
  const write = (entry: DecisionLogEntry) => entries.push(entry);
  return { entries, log: decisionLog({ write, secret: SECRET, random: draws(), ...options }) };
}

const hourly = (limit: number) =>
  rateLimit({ name: 'hourly', limit, window: '1h', key: (request) => request.header('x-api-key') });

describe('a decision log', () => {
  it('writes its share of what passes, and every refusal', () => {
    const { entries, log } = logged();
    const { admit } = setUp(hourly(1000), { observers: [log] });
    for (let i = 0; i < 1200; i += 1) admit({ clientIp: '203.0.113.7' });
    expect(entries.filter(({ outcome }) => outcome === 'allowed')).toHaveLength(10);
    expect(entries.filter(({ outcome }) => outcome === 'denied')).toHaveLength(200);
  });

  it('writes of refusals the share that it is told, and says for how many a line stands', () => {
    const { entries, log } = logged({ sample: 0, sampleRejected: 0.1 });
    const { admit } = setUp(hourly(1), { observers: [log] });
    for (let i = 0; i < 1001; i += 1) admit();
    expect(entries).toHaveLength(100);
    expect(entries.every(({ share, outcome }) => share === 0.1 && outcome === 'denied')).toBe(true);
  });

  it('writes the name of the plan', () => {
    const { entries, log } = logged({ sample: 1 });
    const plan = () => ({ name: 'paid', limit: 5 });
    const { admit } = setUp(rateLimit({ name: 'api', limit: 1, window: '1h', plan }), {
      observers: [log],
    });
    admit();
    expect(entries).toMatchObject([{ limiter: 'api', plan: 'paid', remaining: 4 }]);
  });

  it('writes what a line needs, and no number that is not known', () => {
    const { entries, log } = logged({ sample: 1 });
    const { admit, clock } = setUp([hourly(1), concurrencyLimit({ name: 'at-once', limit: 2 })], {
      observers: [log],
    });
    admit();
    clock.advance('30m');
    admit();
    expect(entries).toEqual([
      {
        limiter: 'hourly',
        outcome: 'allowed',
        allowed: true,
        mode: 'enforce',
        cost: 1,
        share: 1,
        keyHash: log.hashOf('@203.0.113.7'),
        used: 1,
        remaining: 0,
        retryAfterMs: 3_600_000,
        resetMs: 3_600_000,
      },
      expect.objectContaining({ limiter: 'at-once', outcome: 'allowed', remaining: 1 }),
      expect.objectContaining({ limiter: 'hourly', outcome: 'denied', reason: 'rate' }),
      expect.objectContaining({ limiter: 'at-once', outcome: 'allowed' }),
    ]);
    expect(entries[2]).toMatchObject({ allowed: false, retryAfterMs: 1_800_000 });
    expect(entries[1]).not.toHaveProperty('resetMs');
  });

  it('never writes a key', () => {
    const { entries, log } = logged({ sample: 1 });
    const { admit } = setUp(hourly(1), { observers: [log] });
    admit({ headers: { 'x-api-key': 'key-of-ada' } });
    admit({ headers: { 'x-api-key': 'key-of-ada' } });
    admit({ clientIp: '198.51.100.9' });
    expect(entries).toHaveLength(3);
    expect(JSON.stringify(entries)).not.toMatch(/ada|198\.51/);
  });

  it('hashes a key alike under one secret, and otherwise under another', () => {
    const { entries, log } = logged({ sample: 1 });
    const { admit } = setUp(hourly(9), { observers: [log] });
    for (const key of ['ada', 'bob', 'ada']) admit({ headers: { 'x-api-key': key } });
    const [ada, bob, again] = entries.map(({ keyHash }) => keyHash);
    expect(ada).toMatch(/^[0-9a-f]{16}$/);
    expect([again, log.hashOf('ada')]).toEqual([ada, ada]);
    expect(bob).not.toBe(ada);
    expect(logged().log.hashOf('ada')).toBe(ada);
    expect(logged({ secret: 'a secret of others' }).log.hashOf('ada')).not.toBe(ada);
  });

  it('without a secret hashes alike for as long as it lives only', () => {
    const write = () => undefined;
    const [one, other] = [decisionLog({ write }), decisionLog({ write })];
    expect(one.hashOf('ada')).toBe(one.hashOf('ada'));
    expect(one.hashOf('ada')).not.toBe(other.hashOf('ada'));
  });

  it('leaves out what was not asked, unless told to write it', () => {
    const off = rateLimit({ name: 'off', limit: 1, window: '1m', mode: 'off' });
    const silent = logged({ sample: 1 });
    const told = logged({ sample: 1, outcomes: ['skipped'] });
    setUp([off, hourly(1)], { observers: [silent.log, told.log] }).admit();
    expect(silent.entries.map(({ limiter }) => limiter)).toEqual(['hourly']);
    expect(told.entries.map(({ limiter }) => limiter)).toEqual(['off']);
    expect(told.entries[0]).not.toHaveProperty('keyHash');
  });

  it('that cannot write costs no request its answer', () => {
    const faults: Fault[] = [];
    const full = decisionLog({
      write: () => {
        throw new Error('disk full');
      },
      sample: 1,
    });
    const { admit } = setUp(hourly(1), { observers: [full], onFault: (f) => faults.push(f) });
    expect(admit().allowed).toBe(true);
    expect(admit().status).toBe(429);
    expect(faults.map(({ source }) => source)).toEqual(['observer', 'observer']);
  });

  it.each<[string, Partial<Record<keyof DecisionLogOptions, unknown>>]>([
    ['write must be a function', { write: undefined }],
    ['sample must be from 0 to 1', { sample: 1.5 }],
    ['sample must be from 0 to 1', { sample: Number.NaN }],
    ['sampleRejected must be from 0 to 1', { sampleRejected: '1' }],
    ['outcomes must be of allowed', { outcomes: ['refused'] }],
    ['secret must be a string of at least 16 characters', { secret: 'short' }],
    ['random must be a function', { random: 1 }],
  ])('refuses options that cannot be right: %s (%j)', (message, options) => {
    const all = { write: () => undefined, ...options } as DecisionLogOptions;
    expect(() => decisionLog(all)).toThrow(message);
  });

  it('does not tell a secret that is too short', () => {
    const options = { write: () => undefined, secret: 'hunter2' };
    expect(() => decisionLog(options)).not.toThrow('hunter2');
  });
});
