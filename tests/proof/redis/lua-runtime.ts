/** What compiled Lua uses: values, operators and the parts of the standard library that our scripts call. */

/** What a call returns if that is not one value. */
export class Multi extends Array<unknown> {}

export function several(...values: unknown[]): Multi {
  const all = new Multi();
  for (const one of values) all.push(one);
  return all;
}

/** Any error that Lua can catch, with its value: a text, or a table with the field `err`. */
export class LuaError extends Error {
  readonly value: unknown;

  constructor(value: unknown) {
    super(value instanceof Table ? String(value.named['err']) : String(value));
    this.value = value;
  }
}

type Call = (...args: unknown[]) => unknown;

/** A table: `list` has the elements from 1 on, which may have holes; `named` what is kept under texts. */
export class Table {
  readonly list: unknown[];
  readonly named: Record<string, unknown>;

  constructor(list: unknown[] = [], named: Record<string, unknown> = Object.create(null)) {
    this.list = list;
    this.named = named;
  }

  get size(): number {
    const { list } = this;
    while (list.length > 0 && list[list.length - 1] === undefined) list.pop();
    return list.length;
  }
}

export function first(value: unknown): unknown {
  return value instanceof Multi ? value[0] : value;
}

export function all(value: unknown): readonly unknown[] {
  return value instanceof Multi ? value : [value];
}

export function isTrue(value: unknown): boolean {
  return value !== undefined && value !== false;
}

export function get(base: unknown, key: unknown): unknown {
  if (!(base instanceof Table)) throw new LuaError(`attempt to index a ${typeOf(base)} value`);
  if (typeof key === 'number') return base.list[key - 1];
  return typeof key === 'string' ? base.named[key] : undefined;
}

export function field(base: unknown, name: string): unknown {
  if (base instanceof Table) return base.named[name];
  // Texts have the functions of `string`, and no field of their own.
  if (typeof base === 'string') return undefined;
  throw new LuaError(`attempt to index a ${typeOf(base)} value`);
}

export function set(base: unknown, key: unknown, value: unknown): void {
  if (!(base instanceof Table)) throw new LuaError(`attempt to index a ${typeOf(base)} value`);
  if (typeof key === 'string') base.named[key] = value;
  else if (typeof key === 'number' && Number.isInteger(key) && key > 0 && key < 2 ** 20) {
    while (base.list.length < key - 1) base.list.push(undefined);
    base.list[key - 1] = value;
  } else throw new LuaError(`a key that this model does not know: ${String(key)}`);
}

export function setField(base: unknown, name: string, value: unknown): void {
  set(base, name, value);
}

export function typeOf(value: unknown): string {
  if (value === undefined) return 'nil';
  return value instanceof Table ? 'table' : typeof value;
}

/** A text as a number, as `strtod` of C reads it; undefined if it is none. */
function parsed(text: string): number | undefined {
  const trimmed = text.replace(/^[ \t\n\v\f\r]+|[ \t\n\v\f\r]+$/g, '');
  if (/^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(trimmed)) return Number(trimmed);
  if (/^[-+]?0x[\da-f]+$/i.test(trimmed)) {
    const size = Number(trimmed.replace(/^[-+]/, ''));
    return trimmed.startsWith('-') ? -size : size;
  }
  const word = /^([-+]?)(inf(inity)?|nan)$/i.exec(trimmed);
  if (!word) return undefined;
  const size = word[2]?.toLowerCase() === 'nan' ? Number.NaN : Number.POSITIVE_INFINITY;
  return word[1] === '-' ? -size : size;
}

export function number(value: unknown): number {
  if (typeof value === 'number') return value;
  const read = typeof value === 'string' ? parsed(value) : undefined;
  if (read !== undefined) return read;
  throw new LuaError(`attempt to perform arithmetic on a ${typeOf(value)} value`);
}

export const add: Call = (a, b) =>
  typeof a === 'number' && typeof b === 'number' ? a + b : number(a) + number(b);
export const subtract: Call = (a, b) =>
  typeof a === 'number' && typeof b === 'number' ? a - b : number(a) - number(b);
export const multiply: Call = (a, b) =>
  typeof a === 'number' && typeof b === 'number' ? a * b : number(a) * number(b);
export const divide: Call = (a, b) => number(a) / number(b);
export const power: Call = (a, b) => number(a) ** number(b);
export const negative: Call = (a) => -number(a);

/** As Lua 5.1 does it: not the rest of a division, but `a - floor(a / b) * b`. */
export const modulo: Call = (left, right) => {
  const [a, b] = [number(left), number(right)];
  return a - Math.floor(a / b) * b;
};

export const concat: Call = (a, b) => texted(a) + texted(b);

function texted(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return general(value, 14);
  throw new LuaError(`attempt to concatenate a ${typeOf(value)} value`);
}

function comparable(a: unknown, b: unknown): void {
  if (typeof a === typeof b && (typeof a === 'number' || typeof a === 'string')) return;
  throw new LuaError(`attempt to compare ${typeOf(a)} with ${typeOf(b)}`);
}

export function less(a: unknown, b: unknown): boolean {
  if (typeof a === 'number' && typeof b === 'number') return a < b;
  comparable(a, b);
  return (a as string) < (b as string);
}

export function atMost(a: unknown, b: unknown): boolean {
  if (typeof a === 'number' && typeof b === 'number') return a <= b;
  comparable(a, b);
  return (a as string) <= (b as string);
}

export function length(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (value instanceof Table) return value.size;
  throw new LuaError(`attempt to get length of a ${typeOf(value)} value`);
}

/** `%.14g` of C, for another precision too. */
export function general(value: number, precision: number): string {
  if (Number.isNaN(value)) return Object.is(value, Number.NaN) ? '-nan' : 'nan';
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf';
  if (Object.is(value, -0)) return '-0';
  const [digits = '', exponent = '0'] = value.toExponential(precision - 1).split('e');
  const power = Number(exponent);
  const isPlain = power >= -4 && power < precision;
  const plain = isPlain ? value.toFixed(Math.max(0, precision - 1 - power)) : digits;
  const short = plain.includes('.') ? plain.replace(/\.?0+$/, '') : plain;
  if (isPlain) return short;
  const size = String(Math.abs(power)).padStart(2, '0');
  return `${short}e${power < 0 ? '-' : '+'}${size}`;
}

export function callable(value: unknown, line: number): Call {
  if (typeof value === 'function') return value as Call;
  throw new LuaError(`user_script:${line}: attempt to call a ${typeOf(value)} value`);
}

export function callMethod(line: number, name: string, self: unknown, ...args: unknown[]): unknown {
  const owner = typeof self === 'string' ? LIBRARY['string'] : self;
  return callable(field(owner, name), line)(self, ...args);
}

/** `error`: a text is prefixed with the place where it was raised, except at level 0. */
export function raise(...args: unknown[]): never {
  const line = args.pop();
  const [value, level] = args;
  const isPlaced = typeof value === 'string' && level !== 0;
  throw new LuaError(isPlaced ? `user_script:${line}: ${value}` : value);
}

/** Only the globals that Redis gives to a script. Redis stops a script that reads another one. */
export function globalOf(G: Record<string, unknown>, name: string): unknown {
  const value = G[name] ?? LIBRARY[name];
  if (value !== undefined) return value;
  throw new LuaError(`Script attempted to access nonexistent global variable '${name}'`);
}

/** The result of `ipairs` or `pairs`, for a loop. */
export function iterate(value: unknown): Iterable<readonly unknown[]> {
  return value as Iterable<readonly unknown[]>;
}

function* entries(table: Table, isList: boolean): Iterable<readonly unknown[]> {
  for (const [at, value] of table.list.entries()) {
    if (value !== undefined) yield [at + 1, value];
    else if (isList) return;
  }
  if (isList) return;
  for (const [name, value] of Object.entries(table.named)) {
    if (value !== undefined) yield [name, value];
  }
}

const CLASSES: Readonly<Record<string, string>> = {
  d: '0-9',
  w: '0-9A-Za-z',
  s: ' \\t\\n\\v\\f\\r',
  a: 'A-Za-z',
  l: 'a-z',
  u: 'A-Z',
};

const patterns = new Map<string, RegExp>();

/** A pattern of Lua as a regular expression: both look for the first place, and try long matches first. */
function expressionOf(pattern: string): RegExp {
  const known = patterns.get(pattern);
  if (known) return known;
  let source = '';
  let inSet = false;
  for (let at = 0; at < pattern.length; at += 1) {
    const one = pattern[at] as string;
    if (one === '%') {
      at += 1;
      const letter = pattern[at] ?? '';
      const inside = CLASSES[letter.toLowerCase()];
      if (inside === undefined && /[a-z0-9]/i.test(letter)) {
        throw new LuaError(`a pattern that this model does not know: ${pattern}`);
      }
      const isNone = letter !== letter.toLowerCase();
      if (inside === undefined) source += `\\${letter}`;
      else if (inSet && isNone) throw new LuaError(`no %${letter} in a set`);
      else source += inSet ? inside : `[${isNone ? '^' : ''}${inside}]`;
    } else if (inSet) {
      if (one === ']') inSet = false;
      source += one === '[' ? '\\[' : one;
    } else if (one === '[') {
      inSet = true;
      source += one;
    } else if (one === '-') source += '*?';
    else if (one === '.') source += '[^]';
    else if ((one === '^' && at > 0) || (one === '$' && at < pattern.length - 1)) {
      source += `\\${one}`;
    } else source += /[\\{}|/]/.test(one) ? `\\${one}` : one;
  }
  const made = new RegExp(source, 'g');
  patterns.set(pattern, made);
  return made;
}

function find(text: unknown, pattern: unknown): RegExpExecArray | null {
  const expression = expressionOf(texted(pattern));
  expression.lastIndex = 0;
  return expression.exec(texted(text));
}

const captures = (found: RegExpExecArray): Multi =>
  several(...(found.length > 1 ? found.slice(1) : [found[0]]));

/** Converts an index of `string.sub` or `string.byte` to a place from 1 on. */
function place(size: number, index: unknown, missing: number): number {
  const at = index === undefined ? missing : Math.trunc(number(index));
  return at < 0 ? size + at + 1 : at;
}

function sub(text: unknown, from: unknown, to: unknown): string {
  const whole = texted(text);
  return whole.slice(
    Math.max(place(whole.length, from, 1), 1) - 1,
    Math.max(place(whole.length, to, -1), 0),
  );
}

function format(template: unknown, ...args: unknown[]): string {
  let at = 0;
  return texted(template).replace(
    /%(0?)(\d*)(?:\.(\d+))?([a-zA-Z%])/g,
    (all: string, zero: string, width: string, precision: string | undefined, letter: string) => {
      if (letter === '%') return '%';
      const value = args[at];
      at += 1;
      const pad = (text: string): string => text.padStart(Number(width), zero || ' ');
      if (letter === 'd') return pad(String(Math.trunc(number(value)) || 0));
      if (letter === 's') return pad(typeof value === 'string' ? value : tostring(value));
      if (letter === 'f') return pad(number(value).toFixed(Number(precision ?? 6)));
      if (letter === 'g') return pad(general(number(value), Number(precision ?? 6)));
      throw new LuaError(`a format that this model does not know: ${all}`);
    },
  );
}

function tostring(value: unknown): string {
  if (value === undefined) return 'nil';
  return typeof value === 'boolean' ? String(value) : texted(value);
}

/** `cjson.encode`, for texts, numbers of at most 14 digits, and tables of these. */
function encode(value: unknown): string {
  if (value instanceof Table) {
    if (value.size > 0) return `[${value.list.map(encode).join(',')}]`;
    const members = [...entries(value, false)].map(
      ([name, one]) => `${encode(name)}:${encode(one)}`,
    );
    return `{${members.join(',')}}`;
  }
  if (typeof value === 'string') {
    return JSON.stringify(value).replaceAll('/', '\\/').replaceAll('\x7f', '\\u007f');
  }
  return value === undefined ? 'null' : tostring(value);
}

const own = (members: Record<string, unknown>): Table =>
  new Table([], { __proto__: null, ...members } as unknown as Record<string, unknown>);

export const LIBRARY: Readonly<Record<string, unknown>> = {
  unpack: (table: Table, from: unknown = 1, to: unknown = table.size) =>
    several(...table.list.slice(number(from) - 1, number(to))),
  string: own({
    sub,
    format,
    byte: (text: unknown, from: unknown = 1, to: unknown = from) => {
      const chosen = sub(text, from, to);
      const codes = new Multi();
      for (let at = 0; at < chosen.length; at += 1) codes.push(chosen.charCodeAt(at));
      return codes;
    },
    char: (...codes: unknown[]) =>
      String.fromCharCode(
        ...codes.map((code) => {
          const whole = Math.trunc(number(code));
          if (whole >= 0 && whole <= 255) return whole;
          throw new LuaError("bad argument #1 to 'char' (invalid value)");
        }),
      ),
    match: (text: unknown, pattern: unknown) => {
      const found = find(text, pattern);
      return found ? captures(found) : undefined;
    },
    find: (text: unknown, pattern: unknown, from: unknown = 1, isPlain: unknown = false) => {
      if (isTrue(isPlain)) {
        const sought = texted(pattern);
        const at = texted(text).indexOf(sought, number(from) - 1);
        return at < 0 ? undefined : several(at + 1, at + sought.length);
      }
      const found = find(text, pattern);
      if (!found) return undefined;
      return several(found.index + 1, found.index + found[0].length, ...found.slice(1));
    },
    gsub: (text: unknown, pattern: unknown, change: Call) => {
      let count = 0;
      const changed = texted(text).replace(expressionOf(texted(pattern)), (found) => {
        count += 1;
        return texted(first(change(found)) ?? found);
      });
      return several(changed, count);
    },
    gmatch: (text: unknown, pattern: unknown) =>
      Array.from(texted(text).matchAll(expressionOf(texted(pattern))), captures),
  }),
  table: own({
    concat: (table: Table, between: unknown = '') => table.list.map(texted).join(texted(between)),
    remove: (table: Table, at: unknown) =>
      table.size === 0
        ? undefined
        : table.list.splice(at === undefined ? -1 : number(at) - 1, 1)[0],
    sort: (table: Table, isLess: Call = less) => {
      table.list.sort((a, b) =>
        isTrue(first(isLess(a, b))) ? -1 : isTrue(first(isLess(b, a))) ? 1 : 0,
      );
    },
  }),
  math: own({
    floor: (value: unknown) => Math.floor(number(value)),
    ceil: (value: unknown) => Math.ceil(number(value)),
    abs: (value: unknown) => Math.abs(number(value)),
    max: (...values: unknown[]) => Math.max(...values.map(number)),
    min: (...values: unknown[]) => Math.min(...values.map(number)),
    huge: Number.POSITIVE_INFINITY,
  }),
  cjson: own({ encode }),
  tonumber: (value: unknown, base: unknown = 10) => {
    if (typeof value !== 'string') return typeof value === 'number' ? value : undefined;
    if (base === 10) return parsed(value);
    return /^[\da-f]+$/i.test(value) ? Number.parseInt(value, number(base)) : undefined;
  },
  tostring,
  type: typeOf,
  ipairs: (table: Table) => entries(table, true),
  pairs: (table: Table) => entries(table, false),
  pcall: (call: Call, ...args: unknown[]) => {
    try {
      return several(true, ...all(call(...args)));
    } catch (error) {
      if (error instanceof LuaError) return several(false, error.value);
      throw error;
    }
  },
};
