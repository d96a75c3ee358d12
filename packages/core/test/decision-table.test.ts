/** The table of rejections for development: what its lines show, what they hide, and how many there are. */

import {
  concurrencyLimit,
  createGuard,
  type DecisionTableOptions,
  decisionTable,
  type LimitRequest,
  memoryControl,
  rateLimit,
} from '@spillway/core';
import { remoteStore } from '@spillway/core/store';
import { ManualClock } from '@spillway/core/testing';
import { request } from 'spillway-testkit';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { setUp } from './guard-set-up.js';

const clock = new ManualClock();
const two = { name: 'two', limit: 2, window: '1m' } as const;
const at = new Date(clock.nowUs() / 1000).toTimeString().slice(0, 8);

function printed(options: DecisionTableOptions = {}) {
  const texts: string[] = [];
  const write = (text: string) => texts.push(text);
  const table = decisionTable({ write, clock: new ManualClock(), ...options });
  return { table, lines: () => texts.join('\n').split('\n'), texts };
}

/** The columns of a line, which are separated by two spaces or more. */
const cells = (line = '') => line.split(/ {2,}/);

afterEach(() => vi.unstubAllGlobals());

describe('a table of decisions', () => {
  it('has a line for each refusal, with what to do, under one head', () => {
    const { table, lines } = printed();
    const { admit } = setUp(rateLimit(two), { observers: [table] });
    for (let i = 0; i < 4; i += 1) admit({ path: '/things', clientIp: '203.0.113.7' });
    expect(lines().map(cells)).toEqual([
      ['TIME', 'REQUEST', 'LIMITER', 'KEY', 'OUTCOME', 'LEFT', 'WAIT'],
      [`${at}.000`, 'GET /things', 'two', '203.0.113.7', 'denied: rate', '0 of 2', '30 s'],
      [`${at}.000`, 'GET /things', 'two', '203.0.113.7', 'denied: rate', '0 of 2', '30 s'],
    ]);
    const starts = (line = '', words: string[]) => words.map((word) => line.indexOf(word));
    const [head, line] = lines();
    expect(starts(line, ['GET', 'two', '203', 'denied', '0 of', '30 s'])).toEqual(
      starts(head, ['REQUEST', 'LIMITER', 'KEY', 'OUTCOME', 'LEFT', 'WAIT']),
    );
  });

  it('says what a trial would have refused, what can never pass, and what is blocked or in progress', async () => {
    const { table, lines } = printed();
    const control = memoryControl();
    await control.block('blocked', 'ada', { by: 'eve', because: 'a test' });
    const limiters = [
      rateLimit({ ...two, name: 'trial', limit: 1, window: 1_500, mode: 'shadow', key: 'ada' }),
      rateLimit({ ...two, name: 'small', cost: () => 3, key: 'ada' }),
      rateLimit({ ...two, name: 'blocked', key: 'ada' }),
      concurrencyLimit({ name: 'at-once', limit: 1, key: 'ada', retryAfter: '250ms' }),
    ];
    for (const limiter of limiters) {
      const options = { observers: [table], control, validate: false };
      const { admit } = setUp(limiter, options);
      for (let i = 0; i < 2; i += 1) admit();
    }
    const [, ...told] = lines().map((line) => cells(line).slice(2));
    expect(told).toEqual([
      ['trial', 'ada', 'would-deny: rate', '0 of 1', '1.5 s'],
      ['small', 'ada', 'denied: never', '2 of 2', 'never passes'],
      ['small', 'ada', 'denied: never', '2 of 2', 'never passes'],
      ['blocked', 'ada', 'denied: blocked', expect.stringMatching(/^[\d.]+ s$/)],
      ['blocked', 'ada', 'denied: blocked', expect.stringMatching(/^[\d.]+ s$/)],
      ['at-once', 'ada', 'denied: concurrency', '0 of 1', expect.stringMatching(/^\d+ ms$/)],
    ]);
  });

  it('says that a store failed, and shows other outcomes when asked', async () => {
    const { table, lines } = printed({ outcomes: ['allowed', 'error'] });
    const store = remoteStore({
      sync: false as const,
      apply: () => Promise.reject(new Error('down')),
    });
    const broken = createGuard(rateLimit({ ...two, onStoreError: 'deny' }), {
      store,
      observers: [table],
      logger: false,
    });
    await broken.admit(request());
    const { admit } = setUp(rateLimit(two), { observers: [table] });
    for (let i = 0; i < 3; i += 1) admit();
    const outcomes = lines().map((line) => cells(line).slice(4));
    expect(outcomes.slice(1)).toEqual([
      ['error: store-error'],
      ['allowed', '1 of 2'],
      ['allowed', '0 of 2'],
    ]);
  });

  it('shows no key that may be a secret, and tells such keys apart', () => {
    const { table, lines } = printed();
    const limiter = rateLimit({ ...two, cost: () => 3, key: ({ path }) => path.slice(1) });
    const { admit } = setUp(limiter, { observers: [table] });
    const keys = ['sk_live_abcdef', 'sk_live_ghijkl', 'sk_live_abcdef', 'user-17', '@ada', ''];
    for (const key of keys) admit({ path: `/${key}`, clientIp: '2001:db8:1:2::/64' });
    const [first, second, third, ...others] = lines()
      .slice(1)
      .map((line) => cells(line)[3]);
    expect(first).toMatch(/^sk_l\.\.[0-9a-f]{4}$/);
    expect(second).toMatch(/^sk_l\.\.[0-9a-f]{4}$/);
    expect(second).not.toBe(first);
    expect(third).toBe(first);
    expect(others).toEqual(['user-17', '@ada', '2001:db8:1:2::/64']);
  });

  it('shows no list of strings that may be secrets', () => {
    const { table, lines } = printed();
    const key = ({ path }: LimitRequest) => path.slice(1).split(',');
    const { admit } = setUp(rateLimit({ ...two, cost: () => 3, key }), { observers: [table] });
    for (const list of ['acme,sk_live_abc', 'acme,sk_live_def', 'a,b', 'b']) {
      admit({ path: `/${list}` });
    }
    const [first, second, ...others] = lines()
      .slice(1)
      .map((line) => cells(line)[3]);
    expect(first).toMatch(/^\["ac\.\.[0-9a-f]{4}$/);
    expect(second).toMatch(/^\["ac\.\.[0-9a-f]{4}$/);
    expect(second).not.toBe(first);
    expect(others).toEqual([expect.stringMatching(/^\["a"\.\.[0-9a-f]{4}$/), '["b"]']);
  });

  it('prints nothing that a terminal obeys, and cuts what is too long for its column', () => {
    const { table, lines } = printed();
    const { admit } = setUp(rateLimit({ ...two, cost: () => 3, key: '\u001b[2J\r\n' }), {
      observers: [table],
    });
    admit({ path: `/\u001b[31m\n\u0007${'a'.repeat(5_000)}` });
    expect(lines()).toHaveLength(2);
    expect(lines()[1]).toMatch(/^[\x20-\x7e]{1,130}$/);
    expect(cells(lines()[1]).slice(1, 4)).toEqual(['GET /?[31m??aaaaaaaa..', 'two', '?[2J??']);
  });

  it('prints at most so many lines a second, and then how many are missing', () => {
    const ticks = new ManualClock();
    const { table, texts, lines } = printed({ linesPerSecond: 3, clock: ticks });
    const { admit } = setUp(rateLimit({ ...two, cost: () => 3 }), { observers: [table] });
    for (let i = 0; i < 1_000; i += 1) admit();
    expect(texts).toHaveLength(3);
    ticks.advance('1s');
    admit();
    admit();
    expect(lines().slice(4).map(cells)).toEqual([
      ['... 997 more'],
      expect.arrayContaining(['denied: never']),
      expect.arrayContaining(['denied: never']),
    ]);
  });

  it('fails no request, whatever it is told and whatever its writer does', () => {
    const write = () => {
      throw new Error('no console');
    };
    const { admit, faults } = setUp(rateLimit(two), {
      observers: [decisionTable({ write, outcomes: ['allowed'] })],
    });
    expect(admit().allowed).toBe(true);
    expect(faults).toMatchObject([{ source: 'observer', error: { message: 'no console' } }]);
    const { table, texts } = printed({ outcomes: ['allowed'] });
    const bare = createGuard(rateLimit({ ...two, key: 'ada' }), { observers: [table] });
    bare.admit({ header: () => undefined } as unknown as LimitRequest);
    expect(texts).toHaveLength(1);
  });
});

describe('the colours of a table', () => {
  const onConsole = (stdout: object, env: object, options: DecisionTableOptions = {}) => {
    const log = vi.fn();
    vi.stubGlobal('console', { ...console, log });
    vi.stubGlobal('process', { ...process, stdout, env });
    setUp(rateLimit({ ...two, cost: () => 3 }), { observers: [decisionTable(options)] }).admit();
    return log.mock.calls.join('');
  };

  it.each<[boolean, string, object, object, DecisionTableOptions]>([
    [true, 'on a terminal', { isTTY: true }, {}, {}],
    [false, 'in a file or a pipe', {}, {}, {}],
    [false, 'where NO_COLOR is set', { isTTY: true }, { NO_COLOR: '1' }, {}],
    [false, 'where the option says no', { isTTY: true }, {}, { color: false }],
    [true, 'where the option says yes', {}, {}, { color: true }],
  ])('are there (%s) %s', (there, _, stdout, env, options) => {
    const text = onConsole(stdout, env, options);
    expect(text).toContain('denied: never');
    expect(text.includes('\u001b[31mdenied: never')).toBe(there);
  });

  it('are none where nobody may read the environment', () => {
    const env = Object.defineProperty({}, 'NO_COLOR', {
      get: () => {
        throw new Error('not allowed');
      },
    });
    expect(onConsole({ isTTY: true }, env)).not.toContain('\u001b');
  });
});

describe('wrong options of a table', () => {
  it.each<[string, object]>([
    ['outcomes must be of allowed', { outcomes: ['refused'] }],
    ['outcomes must be a list of outcomes', { outcomes: 'denied' }],
    ['linesPerSecond must be', { linesPerSecond: 0 }],
    ['linesPerSecond must be', { linesPerSecond: '20' }],
    ['write must be a function', { write: console }],
    ['color must be true or false', { color: 'red' }],
    ['clock must', { clock: Date }],
    ['did you mean "linesPerSecond"?', { linesPerSeconds: 3 }],
  ])('%s', (message, options) => {
    expect(() => decisionTable(options)).toThrow(message);
  });
});
