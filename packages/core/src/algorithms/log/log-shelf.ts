import type { Ask } from '../../contract/ask.js';
import type { LogAnswer, LogRule, Shelf, ShelfStep } from '../../contract/rule.js';
import { KeySlots } from '../shelves/flat-table.js';
import { Block, Blocks } from './log-blocks.js';
import { Entries, eachEntry, type LogEntries } from './log-entries.js';
import { type LogView, stepLog } from './log-step.js';
import {
  describe,
  entriesIn,
  headIn,
  instantSizeOf,
  isLarge,
  MOST_PACKED,
  PackedEntries,
  readInstant,
  ringOf,
  sumSizeIn,
  writeInstant,
} from './packed-entries.js';

const REPACK_AT_MOST = 64;
/** Marks a long log in the lower five bits of a slot's first number. The address of a block never has all five set. */
const LONG = 31;

/**
 * A short log is packed in a block, and a long log is an object. A slot stores the last instant at which its newest
 * entry counts, and two numbers. For packed logs, {@link PackedEntries} explains the numbers. For a long log, the first
 * is 32 times its index in `long`, plus 31; the second is 0.
 */
export class LogShelf implements Shelf<LogRule, LogEntries> {
  readonly grows = true;
  private readonly keys = new KeySlots(2, {
    moved: (slot) => this.moved(slot),
    dropped: (first, second) => this.dropped(first, second),
  });
  private readonly table = this.keys.table;
  private readonly blocks = new Blocks((slot, from, to) => this.table.replace(slot, from, to));
  private readonly block = new Block();
  private readonly packed = new PackedEntries(this.table, this.blocks);
  private readonly long: (Entries | undefined)[] = [];
  private readonly free: number[] = [];
  private readonly view: LogView = { used: 0, freesUs: 0, lastUs: 0 };
  private slot = -1;
  private entries = 0;

  get size(): number {
    return this.entries;
  }

  find({ limiter, rule, key }: Ask<LogRule>, nowUs: number): LogEntries | undefined {
    return this.load(this.keys.findSlot(limiter, rule, key, nowUs), rule);
  }

  stepStored(ask: Ask<LogRule>, nowUs: number, charge: boolean): LogAnswer | undefined {
    const { op, limiter, rule, key, cost } = ask;
    const slot = this.keys.findSlot(limiter, rule, key, nowUs);
    if (slot >= 0 && op === 'take' && cost === 1 && charge) {
      const answer = this.takeOne(rule, slot, nowUs);
      if (answer) return answer;
    }
    const count = this.load(slot, rule);
    return count && this.step({ ask, nowUs, charge, mayGrow: true, count });
  }

  private load(slot: number, { windowUs }: LogRule): LogEntries | undefined {
    this.slot = slot;
    const { table, packed } = this;
    // An empty log keeps its slot until the table is rebuilt, but counts as missing.
    if (slot < 0 || table.timeAt(slot) === 0) return undefined;
    const first = table.numberAt(slot, 0);
    if (isLong(first)) return this.long[first >>> 5];
    packed.loadLog(slot, table.timeAt(slot) + 1 - windowUs, windowUs);
    return packed;
  }

  /**
   * Does what {@link step} does for the usual take, in two thirds of the time. The usual take is of one unit at a new
   * instant, in a packed log whose entries have one unit each. Returns undefined for other takes, or if the block needs
   * another size. If you change this, `step` or `stepLog`, change all three.
   */
  private takeOne(
    { windowUs, limit }: LogRule,
    slot: number,
    nowUs: number,
  ): LogAnswer | undefined {
    const { table } = this;
    const address = table.numberAt(slot, 0);
    const number = table.numberAt(slot, 1);
    if (address === 0 || isLong(address) || sumSizeIn(number) > 0) return undefined;
    let lastUs = table.timeAt(slot) + 1 - windowUs;
    const sinceUs = nowUs - windowUs;
    if (nowUs <= lastUs || sinceUs >= lastUs || limit === 0) return undefined;

    const size = instantSizeOf(windowUs);
    const { page, start, room } = this.blocks.findBlock(address, this.block);
    const ring = ringOf(room, size);
    const before = entriesIn(number);
    let count = before;
    let head = headIn(number);
    while (readInstant(page, start + head * size, lastUs, size) <= sinceUs) {
      head = (head + 1) % ring;
      count -= 1;
    }
    const allowed = count < limit;
    if (allowed) {
      if (count === ring || (count < before && isLarge(room, (count + 1) * size))) return undefined;
      lastUs = nowUs;
      writeInstant(page, start + ((head + count) % ring) * size, nowUs, size);
      count += 1;
      table.setTime(slot, nowUs + windowUs - 1);
      table.setNumber(slot, 1, describe(0, count, head));
      this.entries += count - before;
    }
    const frees = start + ((head + count - limit) % ring) * size;
    const freesUs = count < limit ? -1 : readInstant(page, frees, lastUs, size);
    return { allowed, nowUs, used: count, freesUs, lastUs };
  }

  step(step: ShelfStep<LogRule, LogEntries>): LogAnswer {
    const { ask, nowUs, charge, mayGrow, count: stored, other } = step;
    const { rule, op, cost } = ask;
    const log = stored ? this.roomy(stored) : this.newLog(other);
    const before = stored ? log.count : 0;
    const allowed = stepLog(ask, log, nowUs, charge, this.view, mayGrow);
    const charges = op === 'record' || op === 'put' || (op === 'take' && charge);
    if (stored || (charges && (allowed || op === 'record') && cost > 0)) {
      this.entries -= before;
      if (this.slot < 0 && log.count > 0) this.slot = this.keys.addSlot(nowUs);
      if (stored || log.count > 0) this.storeLog(log, this.slot, rule.windowUs);
    }
    const { used, freesUs, lastUs } = this.view;
    return { allowed, nowUs, used, freesUs, lastUs };
  }

  expiresAtUs({ windowUs }: LogRule, { lastUs }: LogAnswer): number {
    return lastUs + windowUs;
  }

  reclaim(nowUs: number): void {
    this.table.reclaim(nowUs);
  }

  private newLog(other: LogEntries | undefined): LogEntries {
    if (other) return copyOf(other);
    this.packed.loadLog(-1, 0, 0);
    return this.packed;
  }

  /** Turns a full packed log into a long log. */
  private roomy(log: LogEntries): LogEntries {
    if (log !== this.packed || log.count < MOST_PACKED) return log;
    const long = copyOf(log);
    log.clear();
    this.setLong(this.slot, long);
    return long;
  }

  private storeLog(log: LogEntries, slot: number, windowUs: number): void {
    const { packed, table } = this;
    const kept = log === packed ? log : this.keepLong(log as Entries, slot, windowUs);
    if (kept === packed) packed.saveLog(slot);
    table.setTime(slot, kept.count > 0 ? kept.lastUs + windowUs - 1 : 0);
    this.entries += kept.count;
  }

  private keepLong(log: Entries, slot: number, windowUs: number): LogEntries {
    const { packed, table } = this;
    const first = table.numberAt(slot, 0);
    if (log.count > REPACK_AT_MOST) {
      if (!isLong(first)) this.setLong(slot, log);
      return log;
    }
    if (isLong(first)) this.dropLong(first);
    table.setNumber(slot, 0, 0);
    table.setNumber(slot, 1, 0);
    packed.loadLog(slot, 0, windowUs);
    eachEntry(log, (us, units) => packed.add(us, units));
    return packed;
  }

  private setLong(slot: number, log: Entries): void {
    const place = this.free.pop() ?? this.long.length;
    this.long[place] = log;
    this.table.setNumber(slot, 0, place * 32 + LONG);
    this.table.setNumber(slot, 1, 0);
  }

  private dropLong(first: number): void {
    this.long[first >>> 5] = undefined;
    this.free.push(first >>> 5);
  }

  private moved(slot: number): void {
    const first = this.table.numberAt(slot, 0);
    if (first > 0 && !isLong(first)) this.blocks.own(first, slot);
  }

  private dropped(first: number, second: number): void {
    if (isLong(first)) {
      this.entries -= (this.long[first >>> 5] as Entries).count;
      this.dropLong(first);
    } else if (first > 0) {
      this.entries -= entriesIn(second);
      this.blocks.free(first);
    } else if (second > 0) this.entries -= 1;
  }
}

function isLong(first: number): boolean {
  return (first & LONG) === LONG;
}

function copyOf(log: LogEntries): Entries {
  const copy = new Entries();
  eachEntry(log, (us, units) => copy.add(us, units));
  return copy;
}
