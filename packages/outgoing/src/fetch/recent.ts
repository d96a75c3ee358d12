/** What is remembered of some keys: of those that were not used for the longest time it is forgotten. */

/** Keys of which something is remembered. */
const MAX_KEYS = 10_000;

export class Recent<Value> {
  private readonly values = new Map<string, Value>();
  private readonly make: () => Value;

  /** @param make what is known of a new key */
  constructor(make: () => Value) {
    this.make = make;
  }

  of(key: string): Value {
    const value = this.values.get(key) ?? this.make();
    this.values.delete(key);
    this.values.set(key, value);
    if (this.values.size > MAX_KEYS) {
      const [oldest] = this.values.keys();
      this.values.delete(oldest as string);
    }
    return value;
  }
}
