/**
 * Refusals in a flat table: what is known of one lies together in memory. Among 40,000 keys a refusal takes 0.76 µs;
 * with an object for each in a map it took 1.65 (section "refused again" of the benchmarks).
 */

import type { Answer } from '../contract/ask.js';
import type { RefusalMemory, Rule } from '../contract/rule.js';

/** What is kept of a refusal. */
interface Refusal {
  readonly limiter: string;
  /** What stands for the key. */
  readonly name: string;
  readonly rule: Rule;
  readonly cost: number;
  readonly answer: Answer;
  /** On the process's clock: when the answer came, later than the store decided. */
  readonly learnedUs: number;
  /** On the process's clock: counted from when the store was asked, sooner than it decided. */
  readonly untilUs: number;
}

/** Numbers of one refusal: until, the store's clock less ours, cost, and at most five of its answer. */
const WIDTH = 8;

export class RefusalTable {
  private numbers = new Float64Array(64 * WIDTH);
  private readonly rules: (Rule | undefined)[] = [];
  private readonly limiters: string[] = [];
  private readonly names: string[] = [];
  private readonly free: number[] = [];

  /** The place of a refusal, until it is removed. */
  add({ limiter, name, rule, cost, answer, learnedUs, untilUs }: Refusal): number {
    const place = this.free.pop() ?? this.rules.length;
    const at = place * WIDTH;
    if (at === this.numbers.length) this.grow();
    this.rules[place] = rule;
    this.limiters[place] = limiter;
    this.names[place] = name;
    this.numbers[at] = untilUs;
    this.numbers[at + 1] = answer.nowUs - learnedUs;
    this.numbers[at + 2] = cost;
    rule.logic.refusals?.write(answer, this.numbers, at + 3);
    return place;
  }

  remove(place: number): void {
    this.rules[place] = undefined;
    this.names[place] = '';
    this.free.push(place);
  }

  clear(): void {
    this.rules.length = 0;
    this.limiters.length = 0;
    this.names.length = 0;
    this.free.length = 0;
  }

  /** Places there are, with or without a refusal. */
  get length(): number {
    return this.rules.length;
  }

  isKept(place: number): boolean {
    return this.rules[place] !== undefined;
  }

  limiterOf(place: number): string {
    return this.limiters[place] as string;
  }

  nameOf(place: number): string {
    return this.names[place] as string;
  }

  ruleOf(place: number): Rule {
    return this.rules[place] as Rule;
  }

  untilUs(place: number): number {
    return this.numbers[place * WIDTH] as number;
  }

  costOf(place: number): number {
    return this.numbers[place * WIDTH + 2] as number;
  }

  /** The store's refusal, brought to `nowUs` of our clock. */
  answerAt(place: number, nowUs: number): Answer {
    const { numbers } = this;
    const at = place * WIDTH;
    const rule = this.ruleOf(place);
    const storeUs = nowUs + (numbers[at + 1] as number);
    return (rule.logic.refusals as RefusalMemory).read(rule, numbers, at + 3, storeUs);
  }

  private grow(): void {
    const numbers = new Float64Array(this.numbers.length * 2);
    numbers.set(this.numbers);
    this.numbers = numbers;
  }
}
