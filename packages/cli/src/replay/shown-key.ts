/** Counted keys in the form that people know. */

/** Limiters put an `@` before addresses and lists of parts. A key that begins with `@` gets a second `@`. */
export function shownKey(key: string): string {
  return key.startsWith('@') ? key.slice(1) : key;
}
