/**
 * The acts of a service that runs several versions. Any version may do the next act, and each act must have the same
 * result as in memory.
 */

import { setImmediate } from 'node:timers/promises';
import type { Admission, Decision } from '@spillway/core';
import type { Reservation } from '@spillway/outgoing';
import { expect } from 'vitest';
import { pick, type Random } from '../../packages/core/test/net/random.js';
import { type Limiters, RATES } from './version.js';

const KEYS = ['ada', 'ada', 'ada', '{eve} %é'];
const ENDED = { status: 200, aborted: false } as const;

/** A version on Redis, and its twin in memory, which must do the same. Each knows only the jobs of one process. */
export interface Twins {
  readonly redis: Limiters;
  readonly memory: Limiters;
}

/** A grant, on both sides. Only the version that made it refunds it. */
interface Given<T> {
  readonly by: Twins;
  readonly one: T;
  readonly same: T;
}

/** How often each act was done, and how often it was rejected. */
export type Tally = Map<string, { done: number; refused: number }>;

export class Trace {
  private readonly random: Random;
  private readonly versions: readonly Twins[];
  private readonly tally: Tally;
  private readonly charged: (Given<Decision> & { readonly of: (typeof RATES)[number] })[] = [];
  private readonly permits: Given<Admission>[] = [];
  private readonly slots: Given<Reservation>[] = [];
  private posts = 0;

  constructor(random: Random, versions: readonly Twins[], tally: Tally) {
    this.random = random;
    this.versions = versions;
    this.tally = tally;
  }

  /** One act, by a version and in memory. */
  async act(): Promise<void> {
    const act = pick(this.random, this.acts);
    await act(pick(this.random, this.versions), pick(this.random, KEYS));
  }

  private readonly acts = [
    (by: Twins, key: string) => this.ask('consume', by, key),
    (by: Twins, key: string) => this.ask('consume', by, key),
    (by: Twins, key: string) => this.ask('consume', by, key),
    (by: Twins, key: string) => this.ask('peek', by, key),
    (by: Twins, key: string) => this.ask('record', by, key),
    () => this.refund(),
    (by: Twins, key: string) => this.reset(by, key),
    (by: Twins, key: string) => this.admit(by, key),
    (by: Twins, key: string) => this.admit(by, key),
    () => this.release(),
    (by: Twins, key: string) => this.reserve(by, key),
    (by: Twins, key: string) => this.reserve(by, key),
    () => this.cancel(),
    (by: Twins, key: string) => this.post(by, key),
  ];

  private async ask(verb: 'consume' | 'peek' | 'record', by: Twins, key: string) {
    const of = pick(this.random, RATES);
    const cost = pick(this.random, [1, 1, 2, 3]);
    const one = await by.redis.rate(verb, of, key, cost);
    const same = await by.memory.rate(verb, of, key, cost);
    expect(one).toEqual(same);
    this.note(`${verb} ${of}`, one.allowed);
    if (verb === 'consume' && one.allowed) this.charged.push({ by, one, same, of });
  }

  private async refund(): Promise<void> {
    const charge = this.taken(this.charged);
    if (!charge) return;
    const { by, one, same, of } = charge;
    const cost = 1 + this.random(one.cost);
    const refunded = await by.redis.refund(of, one, cost);
    expect(refunded).toBe(await by.memory.refund(of, same, cost));
    this.note(`refund ${of}`, refunded);
  }

  private async reset(by: Twins, key: string): Promise<void> {
    const of = pick(this.random, RATES);
    const had = await by.redis.reset(of, key);
    expect(had).toBe(await by.memory.reset(of, key));
    this.note(`reset ${of}`, had);
  }

  private async admit(by: Twins, key: string): Promise<void> {
    const one = await by.redis.admit(key);
    const same = await by.memory.admit(key);
    const shown = ({ decisions: [decision] }: Admission) => [decision?.allowed, decision?.used];
    expect(shown(one)).toEqual(shown(same));
    this.note('admit', one.allowed);
    if (one.allowed) this.permits.push({ by, one, same });
  }

  private async release(): Promise<void> {
    const permit = this.taken(this.permits);
    if (!permit) return;
    await permit.one.release(ENDED);
    await permit.same.release(ENDED);
    this.note('release', true);
  }

  private async reserve(by: Twins, key: string): Promise<void> {
    // Each key has one cost, because in one process the first version also reuses cancelled slots of a higher cost.
    const cost = 1 + (key.length % 2);
    const one = await by.redis.reserve(key, cost);
    const same = await by.memory.reserve(key, cost);
    expect(one.allowed).toBe(same.allowed);
    if (!one.allowed || !same.allowed) return this.note('reserve', false);
    // A unit refills in 6 s. The delays also contain how long the calls took, and a busy machine may take its time.
    expect(Math.abs(one.delayMs - same.delayMs)).toBeLessThan(3_000);
    this.note('reserve', true);
    // The process's clock, not that of the trace, decides whether a slot has begun.
    if (one.delayMs > 5_000) this.slots.push({ by, one, same });
  }

  private async cancel(): Promise<void> {
    const slot = this.taken(this.slots);
    if (!slot) return;
    slot.one.cancel();
    slot.same.cancel();
    await setImmediate(); // by then the cancellation is sent, so the next call is answered after it
    await slot.by.redis.rate('peek', 'bucket', 'ada', 1);
    this.note('cancel', true);
  }

  private async post(by: Twins, key: string): Promise<void> {
    this.posts += 1;
    const body = `run ${this.posts}`;
    const id = `${key.length}`;
    const answer = await by.redis.post(id, body);
    expect(answer).toBe(await by.memory.post(id, body));
    this.note('post', answer === `200 ${body}`);
  }

  private taken<T>(from: T[]): T | undefined {
    return from.splice(this.random(from.length), 1)[0];
  }

  private note(act: string, passed: boolean): void {
    const count = this.tally.get(act) ?? { done: 0, refused: 0 };
    count[passed ? 'done' : 'refused'] += 1;
    this.tally.set(act, count);
  }
}
