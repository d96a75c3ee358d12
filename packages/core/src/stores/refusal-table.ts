/**
 * Refusals in a flat table: what is known of one lies together in memory, so that looking it up costs the same among
 * many.
 */

import type { Rule } from '../contract/rule.js';
import type { Answer, BucketAnswer, LogAnswer, WindowAnswer } from '../contract/store.js';

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

/** Numbers of one refusal: until, the store's clock less ours, cost, and the three of its answer. */
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
    this.write(at + 3, rule, answer);
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

  /** The store's answer as it was, but for its clock, which is brought to `nowUs` of ours. */
  answerAt(place: number, nowUs: number): Answer {
    const { numbers } = this;
    const at = place * WIDTH;
    const storeUs = nowUs + (numbers[at + 1] as number);
    const a = numbers[at + 3] as number;
    const b = numbers[at + 4] as number;
    const c = numbers[at + 5] as number;
    switch (this.ruleOf(place).machine) {
      case 'window':
        return { allowed: false, nowUs: storeUs, startUs: a, current: b, previous: c };
      case 'log':
        return { allowed: false, nowUs: storeUs, used: a, freesUs: b, lastUs: c };
      default:
        return { allowed: false, nowUs: storeUs, tatUs: a, tatNum: b };
    }
  }

  private write(at: number, rule: Rule, answer: Answer): void {
    const { numbers } = this;
    if (rule.machine === 'window') {
      const { startUs, current, previous } = answer as WindowAnswer;
      numbers[at] = startUs;
      numbers[at + 1] = current;
      numbers[at + 2] = previous;
    } else if (rule.machine === 'log') {
      const { used, freesUs, lastUs } = answer as LogAnswer;
      numbers[at] = used;
      numbers[at + 1] = freesUs;
      numbers[at + 2] = lastUs;
    } else {
      const { tatUs, tatNum } = answer as BucketAnswer;
      numbers[at] = tatUs;
      numbers[at + 1] = tatNum;
    }
  }

  private grow(): void {
    const numbers = new Float64Array(this.numbers.length * 2);
    numbers.set(this.numbers);
    this.numbers = numbers;
  }
}
