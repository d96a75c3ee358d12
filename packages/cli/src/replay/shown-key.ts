/** Removes the `@` that limiters put before addresses, lists of parts, and keys that begin with `@`. */
export function shownKey(key: string): string {
  return key.startsWith('@') ? key.slice(1) : key;
}
