/** The part of Structured Fields (RFC 9651) that the RateLimit fields need. */

/** A String item: printable ASCII, quoted and escaped. The text must be printable ASCII already. */
export function stringItem(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`;
}

/** The largest Integer; larger numbers are clamped to it. */
const MAX_INTEGER = 999_999_999_999_999;

/** An Integer item of a non-negative number. */
export function integerItem(value: number): string {
  const small = value | 0; // V8 formats small integers faster
  return small === value ? String(small) : String(Math.min(value, MAX_INTEGER));
}
