import { type Digest, newDigest } from '../base/sha256.js';
import { utf8Bytes } from '../base/utf8.js';

/** The digest yields after this much work, a few milliseconds. A character or byte is 1, a value {@link VALUE}. */
const SLICE = 2 ** 17;

/** Maximum work for one value. 10 MB of JSON always need less, but YAML aliases could need any amount. */
const MOST = 2 ** 26;

const VALUE = 8;

/** The deepest nesting. A million levels take about 100 MB; a cyclic value exceeds any depth. */
const DEEPEST = 2 ** 20;

const PIECE = 2 ** 15;

/** Names are sorted in lists of this length, then merged in steps that never block the event loop for long. */
const RUN = 2 ** 12;

/** Thrown for a value without comparable content, such as a Blob. */
export class Hidden extends TypeError {
  constructor(value: unknown) {
    super(`${Object.prototype.toString.call(value)} cannot be compared`);
  }
}

/**
 * The SHA-256 of a value as JSON with sorted members. A date is digested as its JSON string, and an iterable, such as a
 * form, as a list. A `Uint8Array` and a list of the same numbers have different digests.
 *
 * Yields after each {@link SLICE} of work, and does not recurse. The only step of unbounded length is `Object.keys` of
 * an object with many members.
 *
 * @throws Hidden
 * @throws RangeError for a value that is cyclic, too deep or too large
 * @throws any error of the value's own getters and methods
 */
export function* stableDigest(value: unknown): Generator<undefined, Uint8Array> {
  const out = new Output();
  const path: Frame[] = [];
  let frame = beginValue(value, out);
  for (;;) {
    if (frame && path.push(frame) > DEEPEST) throw new RangeError('a value is nested too deeply');
    if (out.isDue()) yield;
    const top = path.at(-1);
    if (!top) return out.digest();
    frame = undefined;
    const next = top.next(out);
    if (next === 'end') path.pop();
    else if (next === 'value') frame = beginValue(top.value, out);
  }
}

interface Frame {
  readonly value: unknown;
  /** Takes a step. `value`: a nested value must be written. `more`: work is left. `end`: done. */
  next(out: Output): 'value' | 'more' | 'end';
}

function beginValue(given: unknown, out: Output): Frame | undefined {
  let value = given;
  out.work += VALUE;
  if (typeof value === 'object' && value !== null && !isBytes(value)) {
    const { toJSON } = value as { toJSON?: unknown };
    if (typeof toJSON === 'function') value = toJSON.call(value);
  }
  if (typeof value === 'string') return writeText(value, out);
  if (typeof value === 'symbol' || typeof value === 'function') throw new Hidden(value);
  if (typeof value !== 'object' || value === null) {
    out.append(typeof value === 'bigint' ? `${value}n` : `${value}`);
    return undefined;
  }
  if (isBytes(value)) return bytesOf(value, out);
  if (Array.isArray(value)) return new List(value, undefined, out);
  if (!(Symbol.iterator in value)) return new Members(value, out);
  return new List([], (value as Iterable<unknown>)[Symbol.iterator](), out);
}

function writeText(text: string, out: Output): Frame | undefined {
  if (text.length > PIECE) return longText(text);
  out.append(JSON.stringify(text));
  return undefined;
}

/** Writes several quoted pieces. Only between such pieces does a quote directly follow a quote. */
function longText(text: string): Frame {
  let at = 0;
  return {
    value: undefined,
    next(out) {
      out.append(JSON.stringify(text.slice(at, at + PIECE)));
      at += PIECE;
      return at < text.length ? 'more' : 'end';
    },
  };
}

function bytesOf(value: ArrayBuffer | ArrayBufferView, out: Output): Frame {
  const bytes = ArrayBuffer.isView(value)
    ? new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
    : new Uint8Array(value);
  out.append(`b${bytes.length}:`); // the length separates the bytes from what follows
  let at = 0;
  return {
    value: undefined,
    next() {
      out.addBytes(bytes.subarray(at, at + SLICE));
      at += SLICE;
      return at < bytes.length ? 'more' : 'end';
    },
  };
}

class List implements Frame {
  value: unknown;
  private at = 0;
  private readonly array: readonly unknown[];
  private readonly values: Iterator<unknown> | undefined;

  constructor(array: readonly unknown[], values: Iterator<unknown> | undefined, out: Output) {
    this.array = array;
    this.values = values;
    out.append('[');
  }

  next(out: Output): 'value' | 'end' {
    const { array, values, at } = this;
    const given = values?.next();
    if (given ? given.done : at >= array.length) {
      out.append(']');
      return 'end';
    }
    this.value = given ? given.value : array[at];
    if (at > 0) out.append(',');
    this.at = at + 1;
    return 'value';
  }
}

class Members implements Frame {
  value: unknown;
  private at = 0;
  private isEmpty = true;
  private names: readonly string[] | undefined;
  private readonly of: object;
  private readonly sorting: Iterator<undefined, readonly string[]> | undefined;

  constructor(of: object, out: Output) {
    const names = Object.keys(of);
    this.of = of;
    this.names = names.length > RUN ? undefined : names.sort();
    this.sorting = this.names ? undefined : sorted(names, out);
    out.append('{');
  }

  next(out: Output): 'value' | 'more' | 'end' {
    const sorting = this.names ? undefined : this.sorting?.next();
    if (sorting?.done) this.names = sorting.value;
    if (!this.names) return 'more';
    const name = this.names[this.at];
    if (name === undefined) {
      if (this.isEmpty && !isPlain(this.of)) throw new Hidden(this.of);
      out.append('}');
      return 'end';
    }
    this.at += 1;
    this.value = (this.of as Record<string, unknown>)[name];
    if (this.value === undefined || typeof this.value === 'function') return 'more';
    out.append(`${this.isEmpty ? '' : ','}${JSON.stringify(name)}:`);
    this.isEmpty = false;
    return 'value';
  }
}

function* sorted(names: string[], out: Output): Generator<undefined, readonly string[]> {
  let lists: string[][] = [];
  for (let from = 0; from < names.length; from += RUN) {
    lists.push(names.slice(from, from + RUN).sort());
    out.work += RUN * VALUE;
    yield;
  }
  while (lists.length > 1) {
    const merged: string[][] = [];
    for (let i = 0; i < lists.length; i += 2) {
      merged.push(yield* merge(lists[i] as string[], lists[i + 1] ?? [], out));
    }
    lists = merged;
  }
  return lists[0] as string[];
}

function* merge(
  one: readonly string[],
  other: readonly string[],
  out: Output,
): Generator<undefined, string[]> {
  const all: string[] = [];
  let at = 0;
  for (const name of one) {
    for (; at < other.length && (other[at] as string) < name; at += 1) {
      all.push(other[at] as string);
    }
    all.push(name);
    out.work += 2;
    if (all.length % RUN === 0) yield;
  }
  return all.concat(other.slice(at));
}

class Output {
  work = 0;
  private due = SLICE;
  private text = '';
  private readonly hash: Digest = newDigest();

  append(text: string): void {
    this.text += text;
    this.work += text.length;
    if (this.text.length >= PIECE) this.flush();
  }

  addBytes(bytes: Uint8Array): void {
    this.flush();
    this.hash.update(bytes);
    this.work += bytes.length;
  }

  isDue(): boolean {
    if (this.work < this.due) return false;
    if (this.work > MOST) throw new RangeError('a value is too large to be compared');
    this.due = this.work + SLICE;
    return true;
  }

  digest(): Uint8Array {
    this.flush();
    return this.hash.digest();
  }

  private flush(): void {
    if (this.text !== '') this.hash.update(utf8Bytes(this.text));
    this.text = '';
  }
}

function isBytes(value: object): value is ArrayBuffer | ArrayBufferView {
  return value instanceof ArrayBuffer || ArrayBuffer.isView(value);
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
