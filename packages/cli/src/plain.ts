/** Escapes control characters, so that a client that can write to Redis can't send them to a terminal. */
export function plain(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Surrogate}\u2028\u2029]/gu, (unit) => {
    return `\\u{${unit.codePointAt(0)?.toString(16)}}`;
  });
}
