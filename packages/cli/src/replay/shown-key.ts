/** Counted keys in the form that people know. */

/** Limiters prefix addresses and lists of parts with `@`, and keys that begin with `@` with another one. */
export function shownKey(key: string): string {
  return key.startsWith('@') ? key.slice(1) : key;
}
