/** A value as a text that is the same for equal values, in whatever order their members were written. */

/**
 * JSON with sorted members. Bytes are told apart from lists, and dates are written as JSON does it.
 *
 * @throws RangeError for a value that contains itself, or lies deeper than the stack
 */
export function stableText(value: unknown): string {
  if (value instanceof Uint8Array) return `b[${value.join(',')}]`;
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'undefined';
  const { toJSON } = value as { toJSON?: unknown };
  if (typeof toJSON === 'function') return stableText(toJSON.call(value));
  if (Array.isArray(value)) return `[${value.map(stableText).join(',')}]`;
  if (value instanceof Map || value instanceof Set) return stableText([...value]);
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined && typeof member !== 'function')
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, member]) => `${JSON.stringify(name)}:${stableText(member)}`);
  return `{${members.join(',')}}`;
}
