/** The interface for the entries of a log (units by instant, oldest first), and its implementation for long logs. */

export interface LogEntries {
  readonly total: number;
  /** The number of stored entries; some may have no units left. */
  readonly count: number;
  /** The newest instant; -Infinity if the log is empty. */
  readonly lastUs: number;
  /** Units at or before `us`. */
  unitsUntil(us: number): number;
  /** The instant of the entry that holds the `unit`-th of all units, counted from 1. */
  instantOf(unit: number): number;
  /** Adds units at `us`, or at the newest instant if that is later. */
  add(us: number, units: number): void;
  /** Adds units to the newest entry and moves it to `us`. There must be an entry. */
  absorb(us: number, units: number): void;
  /** Removes at most `units` of the units added at exactly `us`. Returns how many it removed. */
  takeBack(us: number, units: number): number;
  /** Removes the oldest `units`. An entry that has more units than needed keeps the rest. */
  drop(units: number): void;
  clear(): void;
}

export function eachEntry(log: LogEntries, visit: (us: number, units: number) => void): void {
  let seen = 0;
  while (seen < log.total) {
    const us = log.instantOf(seen + 1);
    const until = log.unitsUntil(us);
    visit(us, until - seen);
    seen = until;
  }
}

const FEW = 32;

const SPARE = 8;

/**
 * The entries of a long log, with running sums. Each method takes time logarithmic in the number of entries, on
 * average. An entry takes 8 to 9 bytes while all have one unit, and about 20 otherwise.
 */
export class Entries implements LogEntries {
  total = 0;
  private length = 0;
  private times = new Float64Array(SPARE);
  /** A Fenwick tree: node n (from 1) is the sum of the `n & -n` entries up to n. Undefined if all have one unit. */
  private nodes: number[] | undefined;
  private head = 0;
  private dropped = 0;
  /** The number of entries in the middle that have no units. */
  private holes = 0;

  get count(): number {
    return this.length - this.head;
  }

  get lastUs(): number {
    return this.total > 0 ? (this.times[this.length - 1] as number) : -Infinity;
  }

  unitsUntil(us: number): number {
    const index = this.indexAfter(us);
    return index === this.head ? 0 : Math.max(0, this.sumOf(index) - this.dropped);
  }

  instantOf(unit: number): number {
    return this.times[this.indexOf(unit)] as number;
  }

  add(us: number, units: number): void {
    if (us <= this.lastUs) {
      this.absorb(this.lastUs, units);
      return;
    }
    if (units !== 1) this.makeNodes();
    if (this.length === this.times.length) this.resize(0);
    this.times[this.length] = us;
    this.length += 1;
    this.total += units;
    const { nodes, length } = this;
    if (!nodes) return;
    let sum = units;
    for (let node = length - 1; node > length - (length & -length); node -= node & -node) {
      sum += nodes[node - 1] as number;
    }
    nodes.push(sum);
  }

  absorb(us: number, units: number): void {
    const last = this.length - 1;
    this.times[last] = us;
    const nodes = this.makeNodes();
    (nodes[last] as number) += units;
    this.total += units;
  }

  takeBack(us: number, units: number): number {
    const index = this.indexAfter(us) - 1;
    if (index < this.head || this.times[index] !== us) return 0;
    const before = Math.max(this.sumOf(index), this.dropped);
    const held = Math.max(0, this.sumOf(index + 1) - before);
    const taken = Math.min(units, held);
    if (taken === 0) return 0;
    if (taken === this.total) {
      this.clear();
      return taken;
    }
    const isLast = index === this.length - 1;
    if (isLast && !this.nodes) this.length -= taken;
    else this.lower(index, taken);
    this.total -= taken;
    if (taken === held && !isLast) this.holes += 1;
    else this.trimEnd();
    this.tidy();
    return taken;
  }

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

  clear(): void {
    this.times = new Float64Array(SPARE);
    this.nodes = undefined;
    this.length = 0;
    this.head = 0;
    this.dropped = 0;
    this.holes = 0;
    this.total = 0;
  }

  private indexAfter(us: number): number {
    let low = this.head;
    let high = this.length;
    if (low === high || (this.times[low] as number) > us) return low;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.times[middle] as number) <= us) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The index of the entry that holds the `unit`-th unit, not counting dropped units. */
  private indexOf(unit: number): number {
    const { nodes } = this;
    let left = this.dropped + unit;
    if (!nodes) return left - 1;
    let index = 0;
    for (let width = 1 << (31 - Math.clz32(nodes.length)); width > 0; width >>= 1) {
      const sum = nodes[index + width - 1];
      if (sum === undefined || sum >= left) continue;
      index += width;
      left -= sum;
    }
    return index;
  }

  /** Units of the first `count` entries, including dropped ones. */
  private sumOf(count: number): number {
    const { nodes } = this;
    if (!nodes) return count;
    let sum = 0;
    for (let node = count; node > 0; node -= node & -node) sum += nodes[node - 1] as number;
    return sum;
  }

  private makeNodes(): number[] {
    // All entries have one unit, so the sum of a node is its number of entries.
    this.nodes ??= Array.from({ length: this.length }, (_, i) => (i + 1) & -(i + 1));
    return this.nodes;
  }

  private lower(index: number, units: number): void {
    const nodes = this.makeNodes();
    for (let node = index + 1; node <= nodes.length; node += node & -node) {
      (nodes[node - 1] as number) -= units;
    }
  }

  /** Removes empty entries at the end: {@link lastUs} must be of an entry with units, because the log expires by it. */
  private trimEnd(): void {
    const all = this.dropped + this.total;
    while (this.sumOf(this.length - 1) === all) {
      this.length -= 1;
      this.nodes?.pop();
    }
  }

  /** Rebuilds a log with many dropped or empty entries: one without sums earlier, because its rebuild only copies. */
  private tidy(): void {
    const part = this.nodes ? 2 : 8;
    if (this.length > FEW && (this.head + this.holes) * part > this.length) this.rebuild();
  }

  private rebuild(): void {
    const { nodes } = this;
    let from = this.head;
    if (nodes) {
      this.gatherNodes(nodes);
      from = 0;
    }
    this.resize(from);
    this.head = 0;
    this.dropped = 0;
    this.holes = 0;
  }

  private gatherNodes(nodes: number[]): void {
    const { times, head } = this;
    const over = this.dropped - this.sumOf(head);
    for (let node = nodes.length; node > 0; node -= 1) carry(nodes, node, -1);
    (nodes[head] as number) -= over;
    let kept = 0;
    for (let index = head; index < this.length; index += 1) {
      if ((nodes[index] as number) <= 0) continue;
      times[kept] = times[index] as number;
      nodes[kept] = nodes[index] as number;
      kept += 1;
    }
    nodes.length = kept;
    this.length = kept;
    if (kept === this.total) this.nodes = undefined;
    else for (let node = 1; node <= kept; node += 1) carry(nodes, node, 1);
  }

  private resize(from: number): void {
    const length = this.length - from;
    const times = new Float64Array(length + (length >> 3) + SPARE);
    times.set(this.times.subarray(from, this.length));
    this.times = times;
    this.length = length;
  }
}

function carry(nodes: number[], node: number, sign: 1 | -1): void {
  const parent = node + (node & -node);
  if (parent <= nodes.length) {
    (nodes[parent - 1] as number) += sign * (nodes[node - 1] as number);
  }
}
