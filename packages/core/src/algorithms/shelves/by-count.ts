/** One thing for each limiter and each code of its counts (see `countOf`), found without making a string. */

/** With more things than this, idle ones are dropped when another is made. */
const MANY = 1_024;

/**
 * Developers choose the names of limiters, so there are few. One limiter may have many codes if its `limit` is a
 * function and it has a burst, so idle things are dropped. A thing that is not idle has at least one entry in its
 * store, and the number of those is limited.
 */
export class ByCount<Thing> {
  private readonly names = new Map<string, Map<string, Thing>>();
  private size = 0;
  private most = MANY;
  private readonly make: (name: string, code: string) => Thing;
  private readonly isIdle: (thing: Thing) => boolean;

  constructor(make: (name: string, code: string) => Thing, isIdle: (thing: Thing) => boolean) {
    this.make = make;
    this.isIdle = isIdle;
  }

  find(name: string, code: string): Thing | undefined {
    return this.names.get(name)?.get(code);
  }

  findOrMake(name: string, code: string): Thing {
    return this.find(name, code) ?? this.add(name, code);
  }

  *[Symbol.iterator](): Generator<Thing> {
    for (const codes of this.names.values()) yield* codes.values();
  }

  private add(name: string, code: string): Thing {
    if (this.size >= this.most) this.dropIdle();
    const thing = this.make(name, code);
    const codes = this.names.get(name) ?? new Map<string, Thing>();
    this.names.set(name, codes.set(code, thing));
    this.size += 1;
    return thing;
  }

  private dropIdle(): void {
    for (const [name, codes] of this.names) {
      for (const [code, thing] of codes) {
        if (!this.isIdle(thing)) continue;
        codes.delete(code);
        this.size -= 1;
      }
      if (codes.size === 0) this.names.delete(name);
    }
    this.most = Math.max(MANY, 2 * this.size);
  }
}
