import { createHash, randomBytes } from 'node:crypto';

/** The longest name, in UTF-16 units. In longer names, a digest replaces the middle. */
const LONGEST = 256;
/** The units kept at the start and end of a longer name. Between them are a digest of 22 units and two marks. */
const [HEAD, TAIL] = [105, 127];
/** Matches a lone surrogate. UTF-8 encodes all of them as the same bytes. */
const LONE = /\p{Surrogate}/u;
const BLOCK_BYTES = 1_048_576;
const HEAD_BYTES = 2;

/**
 * Stores names as bytes outside of the heap. In a `Map` of strings, a million names would take twice as much memory,
 * and slow down the garbage collector.
 */
export class Names {
  private count = 0;
  /** An open hash table, at most half full. A slot contains the number of a name plus 1, or 0 if it is empty. */
  private slots = new Int32Array(2_048);
  private hashes = new Int32Array(1_024);
  private places = new Uint32Array(1_024);
  private readonly blocks: Buffer[] = [];
  private used = BLOCK_BYTES;
  /** Random, so that nobody can craft a log whose names collide. */
  private readonly seed = randomBytes(4).readInt32LE();
  /** The bytes and the hash of the last name passed to {@link find}, and the slot where the search ended. */
  private readonly text = Buffer.alloc(3 * LONGEST);
  private length = 0;
  private hash = 0;
  private vacant = 0;

  get size(): number {
    return this.count;
  }

  find(name: string): number {
    this.encode(name);
    const mask = this.slots.length - 1;
    for (let slot = this.hash & mask; ; slot = (slot + 1) & mask) {
      const id = (this.slots[slot] as number) - 1;
      if (id >= 0 && !this.isFound(id)) continue;
      this.vacant = slot;
      return id;
    }
  }

  /** Assigns the next number to the last name passed to {@link find}, which must have returned -1. */
  add(): number {
    const id = this.count;
    if (this.used + HEAD_BYTES + this.length > BLOCK_BYTES) {
      this.blocks.push(Buffer.alloc(BLOCK_BYTES));
      this.used = 0;
    }
    const block = this.blocks.at(-1) as Buffer;
    block.writeUInt16LE(this.length, this.used);
    this.text.copy(block, this.used + HEAD_BYTES, 0, this.length);
    if (id === this.hashes.length) this.grow();
    this.hashes[id] = this.hash;
    this.places[id] = (this.blocks.length - 1) * BLOCK_BYTES + this.used;
    this.used += HEAD_BYTES + this.length;
    this.slots[this.vacant] = id + 1;
    this.count += 1;
    return id;
  }

  nameOf(id: number): string {
    const [block, start, end] = this.placeOf(id);
    return block.toString('utf8', start, end);
  }

  private encode(name: string): void {
    const { text } = this;
    // Nearly all names are short and ASCII, which a loop writes faster.
    let length = 0;
    while (length < name.length && length < LONGEST && name.charCodeAt(length) < 128) {
      text[length] = name.charCodeAt(length);
      length += 1;
    }
    this.length = length === name.length ? length : text.write(keptOf(name));
    this.hash = this.hashOf();
  }

  private hashOf(): number {
    const { text, length } = this;
    let hash = this.seed;
    for (let at = 0; at < length; at += 1) {
      hash = Math.imul(hash ^ (text[at] as number), 0x9e3779b1);
      hash ^= hash >>> 15;
    }
    return Math.imul(hash, 0x85ebca6b) ^ (hash >>> 13);
  }

  private isFound(id: number): boolean {
    if (this.hashes[id] !== this.hash) return false;
    const [block, start, end] = this.placeOf(id);
    return block.compare(this.text, 0, this.length, start, end) === 0;
  }

  private placeOf(id: number): readonly [block: Buffer, start: number, end: number] {
    const place = this.places[id] as number;
    const block = this.blocks[Math.floor(place / BLOCK_BYTES)] as Buffer;
    const start = (place % BLOCK_BYTES) + HEAD_BYTES;
    return [block, start, start + block.readUInt16LE(start - HEAD_BYTES)];
  }

  private grow(): void {
    const { hashes, places, slots } = this;
    this.hashes = new Int32Array(2 * hashes.length);
    this.hashes.set(hashes);
    this.places = new Uint32Array(2 * places.length);
    this.places.set(places);
    this.slots = new Int32Array(2 * slots.length);
    const mask = this.slots.length - 1;
    const freeFrom = (hash: number): number => {
      let slot = hash & mask;
      while (this.slots[slot] !== 0) slot = (slot + 1) & mask;
      return slot;
    };
    for (let id = 0; id < this.count; id += 1) this.slots[freeFrom(hashes[id] as number)] = id + 1;
    this.vacant = freeFrom(this.hash);
  }
}

/** A name that can't be kept whole gets a digest, because names that differ must stay different. */
function keptOf(name: string): string {
  if (name.length <= LONGEST && !LONE.test(name)) return name;
  const digest = createHash('sha256').update(name, 'utf16le').digest('base64url').slice(0, 22);
  const [head, rest] = [name.slice(0, HEAD), name.slice(HEAD)];
  return `${head}…${digest}…${rest.slice(-TAIL)}`;
}
