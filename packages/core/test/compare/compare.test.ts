/** A limiter in shadow mode is compared with the one that it will replace, or with a looser one. */

import { createServer } from 'node:http';
import {
  fixedWindow,
  type LimitRequest,
  memoryStore,
  rateLimit,
  workerShedder,
} from '@spillway/core';
import {
  type CompareOptions,
  compareWith,
  type Divergence,
  type Verdict,
} from '@spillway/core/compare';
import { nodeGuard } from '@spillway/core/node';
import { ManualClock } from '@spillway/core/testing';
import { CallerSeal } from '@spillway/core/who';
import { describe, expect, it } from 'vitest';
import { setUp } from '../guard-set-up.js';

interface Raw {
  user: string;
  old?: Verdict;
}

const userOf = ({ raw }: LimitRequest) => (raw as Raw).user;

/** A limiter of the app: it counts in fixed windows, and stores its verdict on the request. */
class OldLimiter {
  private readonly counts = new Map<string, number>();
  private readonly limit: number;

  constructor(limit: number) {
    this.limit = limit;
  }

  decide(key: string, cost = 1): Verdict {
    const used = (this.counts.get(key) ?? 0) + cost;
    if (used <= this.limit) this.counts.set(key, used);
    return { allowed: used <= this.limit, remaining: Math.max(0, this.limit - used) };
  }

  reset(): void {
    this.counts.clear();
  }
}

function beside(old: OldLimiter, options: CompareOptions = {}, more: Partial<Verdict> = {}) {
  const divergences: Divergence[] = [];
  const calls: unknown[] = [];
  const comparison = compareWith<Raw>(
    (raw) => {
      calls.push(raw);
      return raw.old && { ...raw.old, ...more };
    },
    { write: (one) => void divergences.push(one), sample: 1, ...options },
  );
  const limiter = rateLimit({
    name: 'new',
    limit: 5,
    window: '1m',
    algorithm: fixedWindow,
    mode: 'shadow',
    key: userOf,
  });
  const { admit, clock, faults } = setUp(limiter, { observers: [comparison] });
  /** Like a handler behind both: the old limiter decides after ours, and then the response is sent. */
  const serve = (user: string, oldKey = user, cost = 1): void => {
    const raw: Raw = { user };
    const admission = admit({ raw });
    raw.old = old.decide(oldKey, cost);
    void admission.release({ status: raw.old.allowed ? 200 : 429 });
  };
  const serves = (count: number, ...request: Parameters<typeof serve>): void => {
    for (let i = 0; i < count; i += 1) serve(...request);
  };
  return { comparison, divergences, calls, serve, serves, admit, clock, faults };
}

describe('compareWith', () => {
  it('counts agreement, and asks once for each request, after its response', () => {
    const { comparison, divergences, calls, serves } = beside(new OldLimiter(5));
    serves(8, 'ada');
    expect(comparison).toMatchObject({ agreed: 8, onlyOurs: 0, onlyTheirs: 0 });
    expect(divergences).toEqual([]);
    expect(calls).toHaveLength(8);
    expect(calls.every((raw) => (raw as Raw).old)).toBe(true);
  });

  it('does not ask while the response is open, nor again after its end', () => {
    const { calls, admit } = beside(new OldLimiter(5));
    const admission = admit({ raw: { user: 'ada' } });
    expect(admission.pending).toBe(true);
    expect(calls).toEqual([]);
    void admission.release({ status: 200 });
    void admission.release({ status: 200 });
    expect(calls).toHaveLength(1);
  });

  it('writes both verdicts of a divergence, with counts, limits and the likely cause', () => {
    const { comparison, divergences, serves } = beside(new OldLimiter(4), {}, { limit: 4 });
    serves(5, 'ada');
    expect(divergences).toEqual([
      {
        limiter: 'new',
        cause: 'limit',
        ours: {
          allowed: true,
          remaining: 0,
          used: 5,
          limit: 5,
          key: 'ada',
          cost: 1,
          resetMs: expect.any(Number),
        },
        theirs: { allowed: false, remaining: 0, limit: 4 },
        share: 1,
      },
    ]);
    expect(comparison).toMatchObject({ agreed: 4, onlyTheirs: 1, causes: { limit: 1 } });
  });

  it.each<[string, Partial<Verdict>, string]>([
    ['another key', { key: 'all', limit: 5 }, 'key'],
    ['another cost', { key: 'ada', cost: 2, limit: 5 }, 'cost'],
    ['another limit', { key: 'ada', cost: 1, limit: 6 }, 'limit'],
    ['another end of the window', { key: 'ada', limit: 5, resetMs: 1 }, 'window'],
    ['nothing else that could differ', { key: 'ada', limit: 5 }, 'window'],
    ['nothing', {}, 'unknown'],
  ])('finds the cause by %s', (_, more, cause) => {
    const old = new OldLimiter(6);
    const { divergences, serves } = beside(old, {}, more);
    serves(6, 'ada');
    expect(divergences).toMatchObject([{ cause, ours: { allowed: false } }]);
  });

  describe('finds the cause, from counts alone, of', () => {
    it('another limit: both count the same for every caller', () => {
      const { divergences, serves } = beside(new OldLimiter(4));
      for (let user = 0; user < 12; user += 1) serves(2, `${user}`);
      serves(5, 'ada');
      expect(divergences).toMatchObject([{ cause: 'limit' }]);
    });

    it('another cost, or other callers that count with this one: they charge unequally', () => {
      const { divergences, serves } = beside(new OldLimiter(5));
      serves(3, 'ada', 'ada', 2);
      expect(divergences).toMatchObject([{ cause: 'key' }]);
      const known = beside(new OldLimiter(5), {}, { key: 'ada' });
      known.serves(3, 'ada', 'ada', 2);
      expect(known.divergences).toMatchObject([{ cause: 'cost' }]);
    });

    it('another phase of the window: only one begins anew', () => {
      const old = new OldLimiter(5);
      const { divergences, serves } = beside(old);
      serves(5, 'ada');
      old.reset();
      serves(1, 'ada');
      expect(divergences).toMatchObject([{ cause: 'window', theirs: { remaining: 4 } }]);
    });
  });

  it('writes a sample, and counts all', () => {
    let next = 0;
    const random = () => (next++ % 10) / 10;
    const { comparison, divergences, serves } = beside(new OldLimiter(0), { sample: 0.2, random });
    for (let user = 0; user < 50; user += 1) serves(1, `${user}`);
    expect(comparison.onlyTheirs).toBe(50);
    expect(divergences).toHaveLength(10);
    expect(divergences[0]?.share).toBe(0.2);
  });

  it('seals keys with a secret', () => {
    const secret = 'a secret of the tests';
    const { divergences, serves } = beside(new OldLimiter(0), { secret }, { key: 'ada' });
    serves(1, 'ada');
    expect(JSON.stringify(divergences)).not.toContain('ada');
    const seal = new CallerSeal(secret);
    expect(seal.reveal(divergences[0]?.theirs.key ?? '')).toBe('ada');
  });

  it('writes only what a verdict has, in its types, whatever else is on the object', () => {
    const junk = { resetTime: new Date(), limit: 5n, key: Symbol('ada'), remaining: '3', used: 2 };
    const { divergences, serves, faults } = beside(new OldLimiter(0), {}, junk as never);
    serves(1, 'ada');
    expect(divergences[0]?.theirs).toEqual({ allowed: false, used: 2 });
    expect(faults).toEqual([]);
  });

  it('leaves out requests that the other limiter did not decide, and limiters that enforce', () => {
    const read = () => ({ allowed: true });
    const comparison = compareWith(() => undefined);
    const enforced = compareWith(read);
    const named = compareWith(read, { limiter: 'api' });
    const { admit } = setUp(rateLimit({ name: 'api', limit: 5, window: '1m' }), {
      observers: [comparison, enforced, named],
    });
    void admit().release({});
    expect([comparison, enforced, named].map(({ agreed }) => agreed)).toEqual([0, 0, 1]);
  });

  it('compares several limiters in shadow mode as the guard would decide', () => {
    const comparison = compareWith(() => ({ allowed: false }));
    const limits = [1, 9].map((limit) =>
      rateLimit({ name: `of ${limit}`, limit, window: '1m', mode: 'shadow' }),
    );
    const { admit } = setUp(limits, { observers: [comparison] });
    for (let i = 0; i < 3; i += 1) void admit().release({});
    expect(comparison).toMatchObject({ agreed: 2, onlyTheirs: 1 });
  });

  it.each([true, false])(
    'compares a limit, and not a shedder without counts beside it',
    (first) => {
      const written: Divergence[] = [];
      const comparison = compareWith(() => ({ allowed: false, limit: 9, key: '203.0.113.7' }), {
        write: (one) => written.push(one),
        sample: 1,
      });
      const mode = 'shadow';
      const signal = { name: 'none', read: () => undefined };
      const shedder = workerShedder({ name: 'workers', ladder: { signal }, brake: false, mode });
      const limit = rateLimit({ name: 'api', limit: 9, window: '1m', mode });
      const { admit } = setUp(first ? [shedder, limit] : [limit, shedder], {
        observers: [comparison],
      });
      void admit().release({});
      expect(written).toMatchObject([{ limiter: 'api', ours: { limit: 9, remaining: 8 } }]);
    },
  );

  it.each([
    () => {
      throw new Error('a bug');
    },
    () => 'yes' as never,
    async () => ({ allowed: true }) as never,
    async () => {
      throw new Error('must not be an unhandled rejection');
    },
  ])('reports a callback that fails, and the request goes on: %s', (read) => {
    const comparison = compareWith(read as never);
    const { admit, faults } = setUp(
      rateLimit({ name: 'api', limit: 1, window: '1m', mode: 'shadow' }),
      {
        observers: [comparison],
      },
    );
    void admit().release({});
    expect(faults).toMatchObject([{ source: 'observer' }]);
    expect(comparison.agreed).toBe(0);
  });

  it.each<[unknown, object, string]>([
    [undefined, {}, 'read'],
    [() => undefined, { write: 1 }, 'write'],
    [() => undefined, { sample: 2 }, 'sample'],
    [() => undefined, { secret: 'short' }, 'secret'],
    [() => undefined, { every: '1m' }, 'every'],
  ])('rejects %s with %j', (read, options, name) => {
    expect(() => compareWith(read as never, options)).toThrow(name);
  });

  it('asks on a server when the response has been sent', async () => {
    const agreed = new Promise<boolean>((resolve) => {
      const comparison = compareWith<{ old?: boolean }>((raw) => {
        resolve(raw.old === true);
        return undefined;
      });
      const guard = nodeGuard(rateLimit({ limit: 5, window: '1m', mode: 'shadow' }), {
        observers: [comparison],
      });
      const server = createServer(async (req, res) => {
        if (!(await guard(req, res))) return;
        Object.assign(req, { old: true });
        res.end('hello');
      });
      server.listen(0, '127.0.0.1', async () => {
        const { port } = server.address() as { port: number };
        await (await fetch(`http://127.0.0.1:${port}`)).text();
        server.close();
      });
    });
    expect(await agreed).toBe(true);
  });
});

describe('a stricter number beside an enforced one', () => {
  it('is the same limiter listed twice: it shows whom the lower limit would reject', () => {
    const clock = new ManualClock();
    const key = userOf;
    const limits = { window: '1m', algorithm: fixedWindow, key } as const;
    const { admit, events } = setUp(
      [
        rateLimit({ name: 'api', limit: 10, ...limits }),
        rateLimit({ name: 'api-at-5', limit: 5, mode: 'shadow', ...limits }),
      ],
      { store: memoryStore({ clock }) },
    );
    const admitted = Array.from({ length: 12 }, () => admit({ raw: { user: 'ada' } }).allowed);
    expect(admitted.filter(Boolean)).toHaveLength(10);
    const outcomes = (limiter: string, outcome: string) =>
      events.filter((event) => event.limiter === limiter && event.outcome === outcome).length;
    expect(outcomes('api', 'denied')).toBe(2);
    // All twelve but five; the last two of them are rejected anyway.
    expect(outcomes('api-at-5', 'allowed')).toBe(5);
    expect(outcomes('api-at-5', 'would-deny')).toBe(7);
  });
});
