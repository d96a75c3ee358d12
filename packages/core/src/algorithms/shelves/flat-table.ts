/**
 * A flat, open-addressed table of counts. A slot has a fingerprint, an instant and a few numbers, but no objects, so
 * the garbage collector has no work even with a million keys. The table grows by moving a few slots per call. Expired
 * entries are evicted instead of moved.
 */

import { detached, type Fingerprint, fingerprint, randomSeed } from '../../base/fingerprint.js';
import { ByCount } from './by-count.js';

/**
 * The slots of a table, in one buffer, so a decision reads one or two cache lines of the processor. A slot has 64-bit
 * cells: a fingerprint, an instant, then two 32-bit numbers or the caller's cells. If slots have only one number, which
 * is usually zero, these numbers are in a separate array.
 */
interface Slots {
  readonly capacity: number;
  /** The first words of a slot are the low and the high half of its fingerprint. Both are zero if the slot is empty. */
  readonly words: Int32Array;
  readonly cells: Float64Array;
  numbers: Uint32Array | undefined;
  taken: number;
}

export interface Keeper {
  moved(slot: number): void;
  dropped(first: number, second: number): void;
}

const SMALLEST = 1024;
/** Slots moved per call while the table is rebuilt. */
const STRIDE = 8;
/** Slots that a call checks or moves when the store is full. */
const FEW = 64;

/**
 * Returns the next larger capacity: alternately 2^k and 3 x 2^k. A table grows when three quarters are taken and more
 * than half are live, so the new table is at least a third full.
 */
function nextCapacity(capacity: number): number {
  return (capacity & (capacity - 1)) === 0 ? 1.5 * capacity : (capacity / 3) * 4;
}

/** The slot of a fingerprint; if it has none, `-1 - slot` for the empty slot where it belongs. */
function probe({ words, capacity }: Slots, size: number, lo: number, hi: number): number {
  // Slots are in the order of fingerprints, so a rebuild reads and writes memory sequentially.
  let slot = ((lo >>> 0) * (capacity / 2 ** 32)) | 0;
  for (;;) {
    const low = words[2 * size * slot] as number;
    const high = words[2 * size * slot + 1] as number;
    if (low === lo && high === hi) return slot;
    if (low === 0 && high === 0) return -1 - slot;
    slot += 1;
    if (slot === capacity) slot = 0;
  }
}

export class FlatTable {
  /** The cells of a slot begin at `(width + 1) * slot`, with its fingerprint. A rebuild replaces this object. */
  slots: Slots;
  private old: Slots | undefined;
  private moved = 0;
  private hand = 0;
  size = 0;
  /** Changes when a rebuild starts, which gives entries new slots. */
  generation = 0;
  private readonly slotSize: number;
  private readonly keeper: Keeper | undefined;

  /**
   * @param width how many numbers a slot has: one or two. If the caller uses {@link slots}, how many cells follow the
   * fingerprint
   */
  constructor(width: number, keeper?: Keeper) {
    this.slotSize = 1 + width;
    this.keeper = keeper;
    this.slots = this.makeSlots(SMALLEST);
  }

  /** The slot of an entry, or -1 if the table has no such entry. Valid until {@link generation} changes. */
  findEntry(lo: number, hi: number, nowUs: number): number {
    if (this.old) this.move(STRIDE, nowUs);
    const slot = probe(this.slots, this.slotSize, lo, hi);
    if (slot >= 0 || !this.old) return Math.max(slot, -1);
    const waiting = probe(this.old, this.slotSize, lo, hi);
    if (waiting < this.moved) return -1;
    this.fillSlot(-1 - slot, lo, hi, this.old, waiting);
    return -1 - slot;
  }

  /** Adds an entry that {@link findEntry} did not find. The caller must set its instant and numbers next. */
  addEntry(lo: number, hi: number, nowUs: number): number {
    if (4 * (this.slots.taken + 1) > 3 * this.slots.capacity) this.rebuild(nowUs);
    const slot = -1 - probe(this.slots, this.slotSize, lo, hi);
    this.fillSlot(slot, lo, hi);
    this.size += 1;
    return slot;
  }

  /** For a table with one number per slot: true if no number above zero was set since the table was last rebuilt. */
  get isBare(): boolean {
    return this.slots.numbers === undefined;
  }

  timeAt(slot: number): number {
    return this.slots.cells[this.slotSize * slot + 1] as number;
  }

  setTime(slot: number, us: number): void {
    this.slots.cells[this.slotSize * slot + 1] = us;
  }

  numberAt(slot: number, column: number): number {
    const { numbers } = this.slots;
    return numbers ? (numbers[this.placeOf(slot) + column] as number) : 0;
  }

  setNumber(slot: number, column: number, value: number): void {
    const { slots } = this;
    if (value > 0) slots.numbers ??= new Uint32Array(slots.capacity);
    if (slots.numbers) slots.numbers[this.placeOf(slot) + column] = value;
  }

  /** Replaces the first number of an entry, also during a move. No other entry may have the number `from`. */
  replace(slot: number, from: number, to: number): void {
    const at = this.placeOf(slot);
    const slots = this.slots.numbers?.[at] === from ? this.slots : (this.old as Slots);
    (slots.numbers as Uint32Array)[at] = to;
  }

  /** Continues a rebuild, which evicts expired entries, or starts one if a few entries show that it is due. */
  reclaim(nowUs: number): void {
    if (this.old) this.move(FEW, nowUs);
    else if (this.look(FEW, nowUs).expired > 0) this.rebuild(nowUs);
  }

  private makeSlots(capacity: number): Slots {
    const buffer = new ArrayBuffer(capacity * this.slotSize * 8);
    return {
      capacity,
      words: new Int32Array(buffer),
      cells: new Float64Array(buffer),
      numbers: this.slotSize > 2 ? new Uint32Array(buffer) : undefined,
      taken: 0,
    };
  }

  private placeOf(slot: number): number {
    return this.slotSize > 2 ? 6 * slot + 4 : slot;
  }

  private fillSlot(slot: number, lo: number, hi: number, from?: Slots, fromSlot = 0): void {
    const { slots } = this;
    const size = 2 * this.slotSize;
    slots.words[size * slot] = lo;
    slots.words[size * slot + 1] = hi;
    slots.taken += 1;
    if (!from) return;
    for (let word = 2; word < size; word += 1) {
      slots.words[size * slot + word] = from.words[size * fromSlot + word] as number;
    }
    if (size === 4 && from.numbers) this.setNumber(slot, 0, from.numbers[fromSlot] as number);
    this.keeper?.moved(slot);
  }

  /**
   * Starts a new table of the next size, or of the same size if live entries would take at most half of it. The new
   * table can't fill up during the move: at most three quarters of the old slots are taken, and they are moved faster
   * than new entries are added.
   */
  private rebuild(nowUs: number): void {
    while (this.old) this.move(SMALLEST, nowUs);
    const old = this.slots;
    const { taken, expired } = this.look(512, nowUs);
    const live = old.taken * (1 - expired / Math.max(1, taken));
    this.slots = this.makeSlots(
      live > 0.5 * old.capacity ? nextCapacity(old.capacity) : old.capacity,
    );
    this.old = old;
    this.moved = 0;
    this.generation += 1;
    this.move(SMALLEST, nowUs);
  }

  private move(count: number, nowUs: number): void {
    const { slotSize } = this;
    const old = this.old as Slots;
    const end = Math.min(this.moved + count, old.capacity);
    for (let slot = this.moved; slot < end; slot += 1) {
      const lo = old.words[2 * slotSize * slot] as number;
      const hi = old.words[2 * slotSize * slot + 1] as number;
      if (lo === 0 && hi === 0) continue;
      const target = probe(this.slots, slotSize, lo, hi);
      if (target >= 0) continue;
      if ((old.cells[slotSize * slot + 1] as number) >= nowUs) {
        this.fillSlot(-1 - target, lo, hi, old, slot);
        continue;
      }
      this.size -= 1;
      const { numbers } = old;
      const at = this.placeOf(slot);
      if (numbers) this.keeper?.dropped(numbers[at] as number, numbers[at + 1] as number);
    }
    this.moved = end;
    if (end === old.capacity) this.old = undefined;
  }

  private look(count: number, nowUs: number): { taken: number; expired: number } {
    const { slotSize } = this;
    const { words, cells, capacity } = this.slots;
    let taken = 0;
    let expired = 0;
    for (let left = capacity <= SMALLEST ? SMALLEST : count; left > 0; left -= 1) {
      const slot = this.hand;
      this.hand = slot + 1 === capacity ? 0 : slot + 1;
      const word = 2 * slotSize * slot;
      if (words[word] === 0 && words[word + 1] === 0) continue;
      taken += 1;
      if ((cells[slotSize * slot + 1] as number) < nowUs) expired += 1;
    }
    return { taken, expired };
  }
}

/** The most keys in the cache. Each has at most 64 characters, so the cache takes about 2 MB. */
const HOT_KEYS = 16_384;
const HOT_LENGTH = 64;

interface Limiter {
  readonly name: string;
  readonly print: Fingerprint;
  readonly hot: Map<string, number>;
}

interface Coded {
  readonly code: string;
}

/**
 * Finds the slots of counts in a table. A count is identified by the exclusive or of two fingerprints with different
 * seeds: one of limiter and code, and one of the key. A collision is as unlikely as with one fingerprint of all three.
 */
export class KeySlots {
  readonly table: FlatTable;
  private readonly limiters = new ByCount<Limiter>(
    (name, code) => {
      this.limiterSeed ??= randomSeed();
      // The length is included, so different pairs of code and name have different texts.
      const print = fingerprint(`${code.length} ${code}${name}`, this.limiterSeed);
      return { name, print, hot: new Map() };
    },
    () => true,
  );
  // Most calls come from the limiter of the last call. Comparing rules as objects is faster than comparing their codes.
  private last: Limiter | undefined;
  private lastRule: Coded | undefined;
  private keySeed: Fingerprint | undefined;
  private limiterSeed: Fingerprint | undefined;
  private epoch = 0;
  private hotKeys = 0;
  private misses = 0;
  private lo = 0;
  private hi = 0;

  constructor(width: number, keeper?: Keeper) {
    this.table = new FlatTable(width, keeper);
  }

  /** The slot of a key, or -1 if the key has none. Valid until the next call. */
  findSlot(limiterName: string, rule: Coded, key: string, nowUs: number): number {
    if (this.epoch !== this.table.generation) this.clearHot();
    let limiter = this.last;
    if (rule !== this.lastRule || limiter === undefined || limiter.name !== limiterName) {
      limiter = this.turnTo(limiterName, rule);
    }
    const hot = limiter.hot.get(key);
    return hot === undefined ? this.search(limiter, key, nowUs) : hot;
  }

  addSlot(nowUs: number): number {
    return this.table.addEntry(this.lo, this.hi, nowUs);
  }

  spread(key: string, counts: number): number {
    return (this.identify(key).hi >>> 0) % counts;
  }

  // Separate from `findSlot`, which is then short enough to be inlined.
  private turnTo(limiterName: string, rule: Coded): Limiter {
    const limiter = this.limiters.findOrMake(limiterName, rule.code);
    this.last = limiter;
    this.lastRule = rule;
    return limiter;
  }

  private search(limiter: Limiter, key: string, nowUs: number): number {
    const print = this.identify(key);
    this.lo = limiter.print.lo ^ print.lo || 1; // both halves 0 would mean an empty slot
    this.hi = limiter.print.hi ^ print.hi;
    const slot = this.table.findEntry(this.lo, this.hi, nowUs);
    if (slot >= 0) this.cacheSlot(limiter, key, slot);
    return slot;
  }

  private identify(key: string): Fingerprint {
    this.keySeed ??= randomSeed();
    return fingerprint(key, this.keySeed);
  }

  /** Caches only one search result in eight, so a stream of new keys costs little time. */
  private cacheSlot(limiter: Limiter, key: string, slot: number): void {
    this.misses += 1;
    if ((this.misses & 7) !== 0 || key.length > HOT_LENGTH) return;
    if (this.hotKeys >= HOT_KEYS) this.clearHot();
    limiter.hot.set(detached(key), slot);
    this.hotKeys += 1;
  }

  private clearHot(): void {
    for (const { hot } of this.limiters) hot.clear();
    this.last = undefined;
    this.hotKeys = 0;
    this.epoch = this.table.generation;
  }
}
