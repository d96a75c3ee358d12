/** Counted keys as people know them. */

/** Limiters put `@` before addresses and lists of parts, and one more before keys that begin with it. */
export function shownKey(key: string): string {
  return key.startsWith('@') ? key.slice(1) : key;
}
