/** Long traces of one sliding log: thousands of entries, large costs, records, refunds in any order, a clock that jumps. */

import type { Step } from '@spillway/core';
import type { LogAnswer, LogRule, Op, Receipt } from '@spillway/core/store';

/** Numbers from 0 to 1, the same for each seed (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

interface Grant {
  readonly cost: number;
  readonly receipt: Receipt;
}

/** Chooses the next step on a log under `rule`, and how far the clock moves before it. */
export class LogTrace {
  private readonly rule: LogRule;
  private readonly random: () => number;
  private readonly grants: Grant[] = [];
  /** The index of the grant that was given back last. */
  private at = 0;
  /** Which kind of step prevails for a while: many of one kind in a row fill or empty chunks. */
  private phase: 'fill' | 'mix' | 'refund' | 'record' = 'fill';

  /** How many of the first steps are still to come; each takes one unit. */
  private fill: number;

  constructor(rule: LogRule, seed: number, fill: number) {
    this.rule = rule;
    this.fill = fill;
    this.at = fill >> 1;
    if (fill > 0) this.phase = 'refund';
    this.random = randomFrom(seed);
  }

  next(): { readonly step: Step; readonly moveUs: number } {
    const base = { limiter: 'log', key: 'ada', rule: this.rule, binding: true };
    if (this.fill > 0) {
      this.fill -= 1;
      return { step: { ...base, op: 'take', cost: 1 }, moveUs: Math.ceil(this.random() * 999) };
    }
    if (this.random() < 0.006) {
      this.phase = this.pick(['fill', 'fill', 'mix', 'refund', 'record']);
    }
    const moveUs = this.move();
    const op = this.op();
    if (op !== 'put') return { step: { ...base, op, cost: this.cost() }, moveUs };
    const { cost, receipt } = this.takeGrant();
    return { step: { ...base, op, cost, receipt }, moveUs };
  }

  /** Receives what a store answered, so that grants can be given back later. */
  told({ op, cost }: Step, { allowed, lastUs }: LogAnswer): void {
    const charged = cost > 0 && (op === 'record' || (op === 'take' && allowed));
    if (charged) this.grants.push({ cost, receipt: { atUs: lastUs, num: 0, units: cost } });
    // The oldest have expired.
    if (this.grants.length > 6_000) this.grants.shift();
  }

  private op(): Op {
    const puts = this.grants.length > 0;
    const at = this.random();
    if (at < 0.0002) return 'reset';
    if (at < 0.05) return 'look';
    switch (this.phase) {
      case 'fill':
        return puts && at < 0.08 ? 'put' : 'take';
      case 'refund':
        return puts && at < 0.9 ? 'put' : 'take';
      case 'record':
        return at < 0.7 ? 'record' : 'take';
      case 'mix':
        return puts && at < 0.4 ? 'put' : at < 0.5 ? 'record' : 'take';
    }
  }

  /** One of the newest grants, any grant, or the one next to the last; each once, and occasionally one again. */
  private takeGrant(): Grant {
    const { length } = this.grants;
    const way = this.random();
    if (way < 0.02) this.at = length - 1 - Math.floor(this.random() * 5);
    else if (way < 0.03) this.at = Math.floor(this.random() * length);
    this.at = Math.max(0, Math.min(length - 1, this.at));
    const grant = this.grants[this.at] as Grant;
    if (this.random() < 0.97) this.grants.splice(this.at, 1);
    return grant;
  }

  private cost(): number {
    const { limit } = this.rule;
    const at = this.random();
    // Large enough for sums beyond 2^32, small enough that many fit.
    if (limit > 1_000_000) return 1 + Math.floor((this.random() * limit) / 50);
    if (at < 0.85) return 1;
    if (at < 0.97) return 1 + Math.floor(this.random() * 9);
    if (at < 0.98) return 0;
    if (at < 0.998) return 1 + Math.floor(this.random() ** 8 * limit);
    return this.pick([limit, limit + 1, Number.MAX_SAFE_INTEGER]);
  }

  private move(): number {
    const { windowUs, limit } = this.rule;
    const unitUs = windowUs / Math.min(limit, 3000);
    const at = this.random();
    if (at < 0.1) return 0;
    if (at < 0.985) return Math.ceil(this.random() * unitUs);
    if (at < 0.99) return Math.ceil((this.random() * windowUs) / 40);
    if (at < 0.998) return -Math.ceil((this.random() * windowUs) / 80);
    if (at < 0.9985) return Math.ceil(this.random() * windowUs);
    if (at < 0.999) return -Math.ceil(this.random() * 3 * windowUs);
    return 0;
  }

  private pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.random() * from.length)] as T;
  }
}
