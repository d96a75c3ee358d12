/** Seeded random numbers. Everything that is random in a history comes from them. */

export class Random {
  private state: number;

  constructor(seed: number) {
    this.state = seed >>> 0;
  }

  /** Returns a number from 0 (inclusive) to 1 (exclusive), by mulberry32 (T. Ettinger). */
  uniform(): number {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.state ^ (this.state >>> 15), this.state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  between(least: number, most: number): number {
    return least + Math.floor(this.uniform() * (most - least + 1));
  }

  chance(probability: number): boolean {
    return this.uniform() < probability;
  }

  pick<Value>(values: readonly Value[]): Value {
    return values[Math.floor(this.uniform() * values.length)] as Value;
  }

  around(mean: number): number {
    return Math.floor(-mean * Math.log(1 - this.uniform()));
  }
}
