import {
  calendar,
  createGuard,
  createLimiter,
  fixedWindow,
  isSpillwayError,
  memoryStore,
  type RateLimitOptions,
  rateLimit,
  slidingLog,
} from '@spillway/core';
import { describe, expect, it } from 'vitest';

function codeOf(act: () => unknown): { code: string; message: string } {
  try {
    act();
  } catch (error) {
    if (isSpillwayError(error)) return { code: error.code, message: error.message };
    throw error;
  }
  throw new Error('nothing was thrown');
}

const good = { limit: 5, window: '1m' } as const;

describe('a wrong option is told at construction, with its name, its value and a code', () => {
  it.each<[string, unknown, string, string]>([
    ['limit', 0, 'SPW_LIMIT_INVALID', '0'],
    ['limit', 1.5, 'SPW_LIMIT_INVALID', '1.5'],
    ['limit', Number.NaN, 'SPW_LIMIT_INVALID', 'NaN'],
    ['limit', '5', 'SPW_LIMIT_INVALID', '"5"'],
    ['limit', 1e9 + 1, 'SPW_LIMIT_INVALID', '1000000001'],
    ['window', '0s', 'SPW_WINDOW_INVALID', '"0s"'],
    ['window', '401d', 'SPW_WINDOW_INVALID', '"401d"'],
    ['window', 'soon', 'SPW_WINDOW_INVALID', '"soon"'],
    ['window', undefined, 'SPW_WINDOW_INVALID', 'undefined'],
    ['burst', 0, 'SPW_BURST_INVALID', '0'],
    ['burst', Infinity, 'SPW_BURST_INVALID', 'Infinity'],
    ['algorithm', 'leaky', 'SPW_ALGORITHM_INVALID', '"leaky"'],
    ['name', '', 'SPW_NAME_INVALID', '""'],
    ['name', 'a\r\nSet-Cookie: x', 'SPW_NAME_INVALID', 'Set-Cookie'],
    ['name', 'naïve', 'SPW_NAME_INVALID', 'naïve'],
    ['cost', -1, 'SPW_COST_INVALID', '-1'],
    ['cost', 2 ** 53, 'SPW_COST_INVALID', '9007199254740992'],
    ['key', '', 'SPW_KEY_INVALID', '""'],
    ['key', 7, 'SPW_KEY_INVALID', '7'],
    ['mode', 'dark', 'SPW_OPTION_INVALID', '"dark"'],
    ['onStoreError', 'open', 'SPW_OPTION_INVALID', '"open"'],
    ['localShare', 0, 'SPW_OPTION_INVALID', '0'],
    ['anchor', 'first-request', 'SPW_OPTION_INVALID', 'left out for token-bucket'],
    ['refundIf', true, 'SPW_OPTION_INVALID', 'true'],
  ])('%s: %s', (option, value, code, shown) => {
    const options = { ...good, [option]: value } as unknown as RateLimitOptions;
    const error = codeOf(() => rateLimit(options));
    expect(error.code).toBe(code);
    expect(error.message).toContain(option);
    expect(error.message).toContain(shown);
  });

  it('the name of an algorithm: the import to write is shown', () => {
    const options = { ...good, algorithm: 'fixed-window' } as never;
    for (const make of [() => rateLimit(options), () => createLimiter(options)]) {
      const { code, message } = codeOf(make);
      expect(code).toBe('SPW_ALGORITHM_INVALID');
      expect(message).toContain('import { fixedWindow,');
      expect(message).toContain("} from '@spillway/core'");
    }
  });

  it('a burst for an algorithm that has none', () => {
    const act = () => rateLimit({ ...good, algorithm: fixedWindow, burst: 9 });
    expect(codeOf(act).code).toBe('SPW_BURST_INVALID');
  });

  it('an anchor that there is not, or for an algorithm that has none', () => {
    for (const options of [
      { ...good, algorithm: fixedWindow, anchor: 'hour' as 'epoch' },
      { ...good, algorithm: slidingLog, anchor: 'epoch' },
      { ...good, anchor: 'epoch' },
    ] as const) {
      for (const make of [() => rateLimit(options), () => createLimiter(options)]) {
        const { code, message } = codeOf(make);
        expect(code).toBe('SPW_OPTION_INVALID');
        expect(message).toContain('anchor must be');
      }
    }
  });

  it('a limit that is a function', () => {
    const limit = (() => 5) as unknown as number;
    expect(codeOf(() => rateLimit({ ...good, limit })).message).toContain('plan');
  });

  it('a limiter without a name in a shared store', () => {
    const store = memoryStore();
    expect(codeOf(() => createGuard(rateLimit(good), { store })).code).toBe('SPW_NAME_REQUIRED');
    expect(codeOf(() => createLimiter(good, { store })).code).toBe('SPW_NAME_REQUIRED');
  });

  it('two limits of one name in one store, unless they are the same numbers', () => {
    const store = memoryStore();
    createLimiter({ ...good, name: 'a' }, { store });
    createLimiter({ ...good, name: 'a' }, { store });
    const other = codeOf(() => createLimiter({ limit: 6, window: '1m', name: 'a' }, { store }));
    expect(other.code).toBe('SPW_NAME_CONFLICT');
    expect(other.message).toContain('"a"');
    // Two places that mean the same limit are as likely as two limits that share a name.
    expect(other.message).toContain('or both the same numbers');
  });

  it('a hard and a soft limit of one name in one store', () => {
    const store = memoryStore();
    const daily = { limit: 12, window: calendar('day'), name: 'q' };
    createLimiter(daily, { store });
    const soft = () => createLimiter({ ...daily, overage: 'allow' }, { store });
    expect(codeOf(soft).message).toContain(
      'calendar:day@UTC (limit 12) in this store, not calendar:day@UTC (limit 12) with overage:',
    );
  });

  it('two limiters of one name in one guard', () => {
    expect(codeOf(() => createGuard([rateLimit(good), rateLimit(good)])).code).toBe(
      'SPW_NAME_CONFLICT',
    );
  });

  it('something else in the place of a limiter', () => {
    expect(codeOf(() => createGuard({} as never)).code).toBe('SPW_LIMITER_INVALID');
    expect(codeOf(() => createGuard([undefined as never])).code).toBe('SPW_LIMITER_INVALID');
  });

  it.each(['0ms', '2m', 'x'] as const)('a storeTimeout of %s', (storeTimeout) => {
    const act = () => createGuard(rateLimit(good), { storeTimeout: storeTimeout as '1ms' });
    expect(codeOf(act).code).toBe('SPW_OPTION_INVALID');
  });

  it('a style of headers that there is not, and two that write one field', () => {
    for (const headers of [['draft-7' as 'legacy'], ['draft-11', 'draft-6'] as const]) {
      const act = () => createGuard(rateLimit(good), { headers });
      expect(codeOf(act).code).toBe('SPW_OPTION_INVALID');
    }
  });
});
