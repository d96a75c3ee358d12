/** A value as a text that is the same for equal values, in whatever order their members were written. */

/**
 * JSON with sorted members. Bytes are told apart from lists, and dates are written as JSON does it. Of what can be
 * iterated (maps, forms, parameters of a query) it is the list.
 *
 * @throws RangeError for a value that contains itself, or lies deeper than the stack
 * @throws TypeError for one that shows nothing of what it has, such as a file or a stream
 */
export function stableText(value: unknown): string {
  if (value instanceof Uint8Array) return `b[${value.join(',')}]`;
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'undefined';
  const { toJSON } = value as { toJSON?: unknown };
  if (typeof toJSON === 'function') return stableText(toJSON.call(value));
  if (Array.isArray(value)) return `[${value.map(stableText).join(',')}]`;
  if (isIterable(value)) return stableText([...value]);
  const entries = Object.entries(value);
  if (entries.length === 0 && !isPlain(value)) throw new TypeError('an object that shows nothing');
  const members = entries
    .filter(([, member]) => member !== undefined && typeof member !== 'function')
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, member]) => `${JSON.stringify(name)}:${stableText(member)}`);
  return `{${members.join(',')}}`;
}

function isIterable(value: object): value is Iterable<unknown> {
  return typeof (value as { [Symbol.iterator]?: unknown })[Symbol.iterator] === 'function';
}

/** Made by a literal, by a parser, or in another realm: without members it is just empty. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
