/** Text from Redis, made safe to show. */

/** Whoever can write to Redis must not be able to write to the terminal what is no text. */
export function plain(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Surrogate}\u2028\u2029]/gu, (unit) => {
    return `\\u{${unit.codePointAt(0)?.toString(16)}}`;
  });
}
