/**
 * Units by instant, oldest first, with running sums: a method takes time proportional to the logarithm of the number of
 * entries, on average.
 */

/** With at most so many entries, the arrays are never rebuilt. */
const FEW = 32;

export class Entries {
  /** Units of all entries that were not dropped. */
  total = 0;
  /** Instants, each later than the one before. */
  private readonly times: number[] = [];
  /** A Fenwick tree: node n, counted from 1, is the sum of the `n & -n` entries that end with the n-th. */
  private readonly nodes: number[] = [];
  /** The index of the oldest entry that still has units, and how many units were dropped since the last rebuild. */
  private head = 0;
  private dropped = 0;
  /** How many entries in the middle have no units left. */
  private holes = 0;

  /** Entries kept. */
  get count(): number {
    return this.times.length - this.head;
  }

  /** The newest instant; -Infinity if there is none. */
  get lastUs(): number {
    return this.total > 0 ? (this.times[this.times.length - 1] as number) : -Infinity;
  }

  /** Units at or before `us`. */
  unitsUntil(us: number): number {
    const index = this.indexAfter(us);
    return index === this.head ? 0 : Math.max(0, this.sumOf(index) - this.dropped);
  }

  /** The instant of the entry that holds the `unit`-th of all units, counted from 1. */
  instantOf(unit: number): number {
    return this.times[this.indexOf(unit)] as number;
  }

  /** Adds units at `us`, or at the newest instant if that is later. */
  add(us: number, units: number): void {
    if (us <= this.lastUs) {
      this.absorb(this.lastUs, units);
      return;
    }
    this.times.push(us);
    this.nodes.push(0);
    const count = this.nodes.length;
    let sum = units;
    for (let node = count - 1; node > count - (count & -count); node -= node & -node) {
      sum += this.nodes[node - 1] as number;
    }
    this.nodes[count - 1] = sum;
    this.total += units;
  }

  /** Adds units to the newest entry and moves it to `us`. There must be an entry. */
  absorb(us: number, units: number): void {
    const last = this.times.length - 1;
    this.times[last] = us;
    (this.nodes[last] as number) += units;
    this.total += units;
  }

  /** Takes away at most `units` of what was added at exactly `us`. Returns how many it took. */
  takeBack(us: number, units: number): number {
    const index = this.indexAfter(us) - 1;
    if (index < this.head || this.times[index] !== us) return 0;
    const before = Math.max(this.sumOf(index), this.dropped);
    const held = Math.max(0, this.sumOf(index + 1) - before);
    const taken = Math.min(units, held);
    this.lower(index, taken);
    if (this.total === 0) this.clear();
    else if (taken === held && index < this.times.length - 1) this.holes += 1;
    else this.trimEnd();
    this.tidy();
    return taken;
  }

  /** Drops the oldest `units`. The last entry that it reaches keeps the rest of its units. */
  drop(units: number): void {
    if (units === 0) return;
    if (units >= this.total) {
      this.clear();
      return;
    }
    this.dropped += units;
    this.total -= units;
    this.head = this.indexOf(1);
    this.tidy();
  }

  /** Becomes a copy of `other`. */
  copy(other: Entries): void {
    this.clear();
    for (const us of other.times) this.times.push(us);
    for (const units of other.nodes) this.nodes.push(units);
    this.head = other.head;
    this.dropped = other.dropped;
    this.holes = other.holes;
    this.total = other.total;
  }

  clear(): void {
    this.times.length = 0;
    this.nodes.length = 0;
    this.head = 0;
    this.dropped = 0;
    this.holes = 0;
    this.total = 0;
  }

  /** The index of the first entry later than `us`. */
  private indexAfter(us: number): number {
    let low = this.head;
    if (!((this.times[low] as number) <= us)) return low;
    let high = this.times.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.times[middle] as number) <= us) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The index of the entry that holds the `unit`-th of the units that were not dropped. */
  private indexOf(unit: number): number {
    const count = this.nodes.length;
    let left = this.dropped + unit;
    let index = 0;
    for (let width = 1 << (31 - Math.clz32(count)); width > 0; width >>= 1) {
      const sum = this.nodes[index + width - 1];
      if (sum === undefined || sum >= left) continue;
      index += width;
      left -= sum;
    }
    return index;
  }

  /** Units of the first `count` entries, dropped ones too. */
  private sumOf(count: number): number {
    let sum = 0;
    for (let node = count; node > 0; node -= node & -node) sum += this.nodes[node - 1] as number;
    return sum;
  }

  private lower(index: number, units: number): void {
    const { nodes } = this;
    for (let node = index + 1; node <= nodes.length; node += node & -node) {
      (nodes[node - 1] as number) -= units;
    }
    this.total -= units;
  }

  /**
   * Removes empty entries at the end: {@link lastUs} must be the instant of an entry with units, for it says when all
   * have expired.
   */
  private trimEnd(): void {
    const all = this.dropped + this.total;
    while (this.sumOf(this.times.length - 1) === all) {
      this.times.pop();
      this.nodes.pop();
    }
  }

  /** Rebuilds the arrays when more than half of their entries have no units. */
  private tidy(): void {
    const { length } = this.times;
    if (length > FEW && (this.head + this.holes) * 2 > length) this.rebuild();
  }

  /** Moves the entries that have units to the front of the arrays, and makes the sums again. */
  private rebuild(): void {
    const { times, nodes } = this;
    const over = this.dropped - this.sumOf(this.head);
    for (let node = nodes.length; node > 0; node -= 1) this.carry(node, -1);
    (nodes[this.head] as number) -= over;
    let kept = 0;
    for (let index = this.head; index < times.length; index += 1) {
      if ((nodes[index] as number) <= 0) continue;
      times[kept] = times[index] as number;
      nodes[kept] = nodes[index] as number;
      kept += 1;
    }
    times.length = kept;
    nodes.length = kept;
    this.head = 0;
    this.dropped = 0;
    this.holes = 0;
    for (let node = 1; node <= kept; node += 1) this.carry(node, 1);
  }

  /** Adds a node to the next node that contains it, or subtracts it from there. */
  private carry(node: number, sign: 1 | -1): void {
    const parent = node + (node & -node);
    const { nodes } = this;
    if (parent <= nodes.length) {
      (nodes[parent - 1] as number) += sign * (nodes[node - 1] as number);
    }
  }
}
