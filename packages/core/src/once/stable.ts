/** A value as a text that is the same for equal values, in whatever order their members were written. */

/**
 * JSON with sorted members. Bytes are told apart from lists, and dates are written as JSON does it. What can be
 * iterated, such as a form, is a list.
 *
 * @throws RangeError for a value that contains itself, or lies deeper than the stack
 * @throws TypeError for what shows nothing that tells it from others of its kind, such as a Blob
 */
export function stableText(value: unknown): string {
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value === 'number') return `${value}`;
  if (typeof value !== 'object' || value === null) return textOfSimple(value);
  const bytes = bytesIn(value);
  if (bytes) return `b[${bytes.join(',')}]`;
  const { toJSON } = value as { toJSON?: unknown };
  if (typeof toJSON === 'function') return stableText(toJSON.call(value));
  if (Symbol.iterator in value) return `[${[...(value as Iterable<unknown>)].map(stableText)}]`;
  const members = Object.entries(value).filter(
    ([, member]) => member !== undefined && typeof member !== 'function',
  );
  if (members.length === 0 && !isPlain(value)) throw untold(value);
  const texts = members
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, member]) => `${JSON.stringify(name)}:${stableText(member)}`);
  return `{${texts.join(',')}}`;
}

function textOfSimple(value: unknown): string {
  if (typeof value === 'symbol' || typeof value === 'function') throw untold(value);
  return JSON.stringify(value) ?? 'undefined';
}

function bytesIn(value: object): Uint8Array | undefined {
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  if (!ArrayBuffer.isView(value)) return undefined;
  return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function untold(value: unknown): TypeError {
  return new TypeError(`${Object.prototype.toString.call(value)} cannot be compared`);
}
