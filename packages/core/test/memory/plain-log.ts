/** A log, as literally as possible: a list that is walked. */

import type { LogEntries } from '../../src/algorithms/log/log-entries.js';

export class PlainLog implements LogEntries {
  list: { us: number; units: number }[] = [];

  get total(): number {
    return this.unitsUntil(Number.POSITIVE_INFINITY);
  }

  get count(): number {
    return this.list.length;
  }

  get lastUs(): number {
    return this.list.at(-1)?.us ?? Number.NEGATIVE_INFINITY;
  }

  unitsUntil(us: number): number {
    return this.list.reduce((sum, entry) => sum + (entry.us <= us ? entry.units : 0), 0);
  }

  instantOf(unit: number): number {
    let sum = 0;
    for (const { us, units } of this.list) {
      sum += units;
      if (sum >= unit) return us;
    }
    return Number.NaN;
  }

  add(us: number, units: number): void {
    if (us <= this.lastUs) (this.list.at(-1) as { units: number }).units += units;
    else this.list.push({ us, units });
  }

  absorb(us: number, units: number): void {
    const last = this.list.at(-1);
    if (last) this.list[this.list.length - 1] = { us, units: last.units + units };
  }

  takeBack(us: number, units: number): number {
    const held = this.list.find((entry) => entry.us === us)?.units ?? 0;
    const taken = Math.min(held, units);
    this.list = this.list
      .map((entry) => (entry.us === us ? { us, units: entry.units - taken } : entry))
      .filter((entry) => entry.units > 0);
    return taken;
  }

  drop(units: number): void {
    let left = units;
    this.list = this.list
      .map((entry) => {
        const part = Math.min(left, entry.units);
        left -= part;
        return { us: entry.us, units: entry.units - part };
      })
      .filter((entry) => entry.units > 0);
  }

  clear(): void {
    this.list = [];
  }
}
