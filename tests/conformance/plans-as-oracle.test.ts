/**
 * Traces in which plans, live numbers and overrides change, and two plans of one key are used at once: each decision,
 * through a guard and without HTTP, is that of the oracle under the numbers that the docs say apply.
 */

import {
  createGuard,
  createLimiter,
  createLimiters,
  type Decision,
  fixedWindow,
  type LiveLimits,
  memoryControl,
  memoryStore,
  type Plan,
  type RateAlgorithm,
  rateLimit,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '@spillway/core';
import { makeRule, type Rule, receiptFrom, type Step } from '@spillway/core/store';
import { ManualClock } from '@spillway/core/testing';
import { request } from 'spillway-testkit';
import { describe, expect, it } from 'vitest';
import { Oracle } from '../../packages/conformance/src/oracle.js';
import { pick, type Random, seeded } from '../../packages/core/test/net/random.js';

const SECOND = 1_000_000;
const note = { by: 'ada', because: 'a test' };
const KEYS = ['ada', 'ada', 'ada', 'bob'];

interface Numbers {
  readonly limit: number;
  readonly window: string;
  readonly burst?: number;
}

const PLANS: readonly (Plan | undefined)[] = [
  undefined,
  { limit: 3, name: 'free' },
  { limit: 12, name: 'paid' },
  { limit: 40, window: '1m', name: 'hourly' },
  { limit: 0, name: 'ended' },
];
const BURSTS: readonly Plan[] = [{ burst: 9 }, { limit: 7, burst: 2, name: 'small' }];
const LIVE: readonly LiveLimits[] = [
  { factor: 0.5 },
  { factor: 3 },
  { limit: 8 },
  { limit: 4, allPlans: true },
  { window: '20s' },
];

/** What docs/recipes/plans.md says applies: a key's numbers, its plan, live numbers, the declared ones. */
function numbersOf(
  declared: Numbers,
  plan: Plan | undefined,
  live: LiveLimits | undefined,
  own: LiveLimits | undefined,
): Numbers {
  const planned = { ...declared, ...plan } as Numbers;
  if (planned.limit === 0 && own?.limit === undefined) return planned;
  const reaches = !plan || live?.factor !== undefined || live?.allPlans;
  const { factor = 1, ...set } = own ?? (reaches ? live : undefined) ?? {};
  const times = (units: number) => Math.max(1, Math.floor(units * factor));
  const { limit, window, burst } = { ...planned, ...set } as Numbers;
  return { limit: times(limit), window, ...(burst !== undefined && { burst: times(burst) }) };
}

/** A charge that may be refunded: the limiter's decision, and the oracle's. */
interface Charged {
  readonly decision: Decision;
  readonly step: Step;
}

class Trace {
  readonly seen = new Map<string, number>();
  private readonly clock = new ManualClock();
  private readonly oracle = new Oracle();
  private readonly control = memoryControl({ clock: this.clock });
  private readonly charged: Charged[] = [];
  private readonly random: Random;
  private readonly algorithm: RateAlgorithm;
  private readonly declared: Numbers;
  private readonly limiter;
  private readonly limiters;
  private readonly guard;
  private plan: Plan | undefined;
  private live: LiveLimits | undefined;
  private own = new Map<string, LiveLimits>();

  constructor(random: Random, algorithm: RateAlgorithm) {
    this.random = random;
    this.algorithm = algorithm;
    const isBucket = algorithm === tokenBucket;
    this.declared = { limit: 6, window: '10s', ...(isBucket && random(2) && { burst: 5 }) };
    const { clock, control } = this;
    const store = memoryStore({ clock });
    const options = { ...this.declared, algorithm };
    const settings = { store, control, logger: false as const };
    this.limiter = createLimiter({ name: 'calls', ...options } as never, settings);
    this.limiters = createLimiters({ calls: options as never }, settings);
    const limits = { name: 'calls', ...options, key: () => 'ada', plan: () => this.plan };
    this.guard = createGuard(rateLimit(limits as never), settings);
  }

  act(): void {
    const { clock, control, random } = this;
    if (random(3) === 0) clock.advance(1 + random(4_000));
    if (random(8) === 0) {
      this.live = random(2) ? pick(random, LIVE) : undefined;
      if (this.live) control.set('calls', { limits: this.live }, note);
      else control.clear('calls', note, ['limits']);
    }
    if (random(10) === 0) {
      const key = pick(random, KEYS);
      control.limitKey('calls', key, pick(random, LIVE.slice(0, 3)), note);
      this.own.set(key, control.limitsOf?.('calls', key) as LiveLimits);
    }
    const plans = this.declared.burst ? [...PLANS, ...BURSTS] : PLANS;
    this.plan = pick(random, plans);
    pick(random, this.acts)();
  }

  private readonly acts = [
    () => this.one('take', (key, ask) => this.limiter.consume(key, ask)),
    () => this.one('take', (key, { cost, plan }) => this.several(key, cost, plan)),
    () => this.one('look', (key, ask) => this.limiter.peek(key, ask)),
    () => this.one('record', (key, ask) => this.limiter.record(key, ask).binding),
    () => this.admit(),
    () => this.together(),
    () => this.refund(),
  ];

  private several(key: string, cost: number, plan: Plan | undefined): Decision {
    return this.limiters.consume({ calls: key }, { cost, plan: { calls: plan } }).decisions.calls;
  }

  /** One key through `ask`. */
  private one(
    op: Step['op'],
    ask: (key: string, asked: { cost: number; plan: Plan | undefined }) => Decision,
  ): void {
    const key = pick(this.random, KEYS);
    const cost = 1 + this.random(2);
    const { plan } = this;
    const decision = ask(key, { cost, plan });
    this.check([decision], [this.step(op, key, cost)]);
  }

  /** Through the guard, whose key is always ada. */
  private admit(): void {
    const admission = this.guard.admit(request());
    if (admission instanceof Promise) throw new Error('a synchronous plan keeps admit synchronous');
    this.check(admission.decisions, [this.step('take', 'ada', 1)], false);
  }

  /** Two keys under one plan, all or nothing. */
  private together(): void {
    const { plan } = this;
    const { decisions } = this.limiter.consumeAll(['ada', 'bob'], { plan });
    this.check(
      decisions,
      ['ada', 'bob'].map((key) => this.step('take', key, 1)),
    );
  }

  /** A charge under another plan is refunded in the count that was charged. */
  private refund(): void {
    const [given] = this.charged.splice(this.random(this.charged.length), 1);
    if (!given) return;
    const [verdict] = this.oracle.apply([{ ...given.step, op: 'put' }], this.clock.nowUs());
    expect(this.limiter.refund(given.decision)).toBe(verdict?.allowed);
    this.saw(`refund ${verdict?.allowed}`);
  }

  private step(op: Step['op'], key: string, cost: number): Step {
    const numbers = numbersOf(this.declared, this.plan, this.live, this.own.get(key));
    const { limit, window, burst } = numbers;
    const windowUs = Number.parseInt(window, 10) * (window.endsWith('m') ? 60 : 1) * SECOND;
    const rule = makeRule(this.algorithm.name as never, Math.max(limit, 1), windowUs, burst);
    const closed: Rule = limit === 0 ? { ...rule, limit: 0 } : rule;
    return { op, limiter: 'calls', key, rule: closed, cost, binding: true };
  }

  private check(decisions: readonly Decision[], steps: readonly Step[], isKept = true): void {
    this.saw(`${steps[0]?.op} ${decisions.every(({ allowed }) => allowed)}`);
    if (steps.some(({ rule }) => rule.limit === 0)) {
      // The whole group was decided without the store. The oracle is not asked, so nothing may be charged.
      expect(decisions.map(({ reason }) => reason)).toContain('never');
      return;
    }
    const verdicts = this.oracle.apply(steps, this.clock.nowUs());
    for (const [at, { allowed, used, remaining, retryAfterMs, resetMs }] of verdicts.entries()) {
      expect(decisions[at]).toMatchObject({ allowed, used, remaining, retryAfterMs, resetMs });
    }
    const passes = decisions.every(({ allowed }) => allowed);
    if (!isKept || steps[0]?.op !== 'take' || !passes) return;
    for (const [at, step] of steps.entries()) {
      const { answer } = verdicts[at] as (typeof verdicts)[number];
      const receipt = receiptFrom(step.rule, answer, step.cost);
      this.charged.push({ decision: decisions[at] as Decision, step: { ...step, receipt } });
    }
  }

  private saw(what: string): void {
    this.seen.set(what, (this.seen.get(what) ?? 0) + 1);
  }
}

describe.each(Object.entries({ tokenBucket, fixedWindow, slidingWindow, slidingLog }))(
  'plans that change, with %s',
  (_, algorithm) => {
    it('are decided as by the oracle', () => {
      const seen = new Map<string, number>();
      for (let seed = 1; seed <= 60; seed += 1) {
        const trace = new Trace(seeded(seed), algorithm);
        for (let i = 0; i < 120; i += 1) trace.act();
        for (const [what, times] of trace.seen) seen.set(what, (seen.get(what) ?? 0) + times);
      }
      for (const what of ['take', 'look', 'record', 'refund']) {
        for (const passed of [true, false]) {
          expect(seen.get(`${what} ${passed}`) ?? 0).toBeGreaterThan(what === 'refund' ? 10 : 100);
        }
      }
    });
  },
);
