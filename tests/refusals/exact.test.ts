import {
  type Admission,
  type Answer,
  createGuard,
  createLimiter,
  fixedWindow,
  memoryStore,
  type RuleOptions,
  rateLimit,
  type Step,
  type Store,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '@spillway/core';
import { countOf, remoteStore } from '@spillway/core/store';
import { ManualClock } from '@spillway/core/testing';
import fc from 'fast-check';
import { request } from 'spillway-testkit';
import { describe, expect, it } from 'vitest';

/** An event; keys, grants and limits are indexes. */
type Event =
  | { readonly what: 'ask'; readonly key: number; readonly cost: number }
  | { readonly what: 'wait'; readonly us: number }
  /** Moves the clock to a microsecond before, at, or after the last promised moment. */
  | { readonly what: 'wait as told'; readonly off: number }
  | { readonly what: 'end'; readonly grant: number; readonly refund: boolean }
  | { readonly what: 'reset'; readonly key: number }
  | { readonly what: 'record'; readonly key: number; readonly cost: number }
  | { readonly what: 'limit'; readonly limit: number };

const key = fc.integer({ min: 0, max: 1 });
const cost = fc.oneof(
  { arbitrary: fc.constant(1), weight: 2 },
  { arbitrary: fc.integer({ min: 0, max: 7 }), weight: 3 },
);
const ask = fc.record({ what: fc.constant('ask' as const), key, cost });
const event: fc.Arbitrary<Event> = fc.oneof(
  { arbitrary: ask, weight: 20 },
  {
    arbitrary: fc.record({
      what: fc.constant('wait' as const),
      us: fc.integer({ min: 1, max: 3_000_000 }),
    }),
    weight: 3,
  },
  {
    arbitrary: fc.record({
      what: fc.constant('wait as told' as const),
      off: fc.integer({ min: -1, max: 1 }),
    }),
    weight: 2,
  },
  fc.record({ what: fc.constant('end' as const), grant: fc.nat(9), refund: fc.boolean() }),
  fc.record({ what: fc.constant('reset' as const), key }),
  fc.record({ what: fc.constant('record' as const), key, cost }),
  fc.record({ what: fc.constant('limit' as const), limit: fc.constantFrom(5, 3, 7) }),
);

/** With the code of its count in the name, so rules that cannot share a count have separate ones. */
function apart(step: Step): Step {
  return { ...step, limiter: `${step.limiter} ${countOf(step)}` };
}

/** A guard that runs a trace and counts its steps to the store, which answers later. */
class Run {
  readonly clock = new ManualClock();
  steps = 0;
  private readonly memory = memoryStore({ clock: this.clock });
  private readonly store: Store = remoteStore({
    sync: false,
    testClock: this.clock,
    apply: async (steps: readonly Step[]): Promise<readonly Answer[]> => {
      this.steps += steps.length;
      return this.memory.apply(steps.map(apart));
    },
  });
  private limit = 5;
  private readonly guard;
  private readonly direct;
  private readonly grants: Admission[] = [];
  private toldUs = 0;

  constructor(options: Pick<RuleOptions, 'algorithm' | 'anchor'>, denialCache: boolean) {
    const rule = { name: 'one', window: '7s', ...options } as const;
    this.direct = createLimiter({ ...rule, limit: 5 }, { store: this.store });
    this.guard = createGuard(
      rateLimit({
        ...rule,
        limit: 5,
        plan: () => ({ limit: this.limit }),
        key: ({ path }) => path,
        cost: (asked) => Number(asked.header('cost')),
        refundIf: (_, { status }) => status === 200,
      }),
      { store: this.store, denialCache },
    );
  }

  /** What a client and an observer would see. */
  async meet(one: Event): Promise<unknown> {
    this.clock.advance(0.001);
    switch (one.what) {
      case 'ask': {
        const headers = { cost: `${one.cost}` };
        const admission = await this.guard.admit(request({ path: `k${one.key}`, headers }));
        const { allowed, status, headers: fields, body, decisions } = admission;
        if (allowed) this.grants.push(admission);
        const [decision] = decisions;
        this.toldUs = Math.round((decision?.retryAfterMs ?? 0) * 1000);
        return { allowed, status, fields, body, decision };
      }
      case 'wait':
        return this.clock.advance(one.us / 1000);
      case 'wait as told': {
        const us = this.toldUs + one.off - 1;
        if (us > 0 && us < 1e12) this.clock.advance(us / 1000);
        return undefined;
      }
      case 'end':
        return this.grants.splice(one.grant, 1)[0]?.release({ status: one.refund ? 200 : 500 });
      case 'reset':
        return this.direct.reset(`k${one.key}`);
      case 'record':
        return this.direct.record(`k${one.key}`, { cost: one.cost });
      case 'limit':
        this.limit = one.limit;
        return undefined;
    }
  }
}

describe.each([
  { algorithm: tokenBucket },
  { algorithm: fixedWindow },
  { algorithm: fixedWindow, anchor: 'first-request' },
  { algorithm: slidingLog },
  { algorithm: slidingWindow },
] as const)('a guard of %o that remembers refusals', (options) => {
  it('says what it would say without, in every answer to every trace', async () => {
    let saved = 0;
    const trace = fc.array(event, { minLength: 20, maxLength: 80 });
    await fc.assert(
      fc.asyncProperty(trace, async (events) => {
        const plain = new Run(options, false);
        const cached = new Run(options, true);
        for (const one of events) expect(await cached.meet(one)).toEqual(await plain.meet(one));
        expect(cached.steps).toBeLessThanOrEqual(plain.steps);
        saved += plain.steps - cached.steps;
      }),
      { numRuns: 300 },
    );
    expect(saved).toBeGreaterThan(300);
  });
});
