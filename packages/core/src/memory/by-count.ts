/** One thing for each limiter and code of its counts (see `countOf`), found without making a string. */

/** Above so many, idle things are dropped when another is made. */
const MANY = 1_024;

/**
 * Names of limiters are chosen by developers, so they are few; the codes of a limiter may be many where its `limit` function
 * goes with a burst, so what is idle is dropped. What is not idle holds at least one entry of its store, and those are bounded.
 */
export class ByCount<Thing> {
  private readonly names = new Map<string, Map<string, Thing>>();
  private size = 0;
  private most = MANY;
  // Most calls come from the limiter that called last.
  private lastName: string | undefined;
  private lastCode = '';
  private last: Thing | undefined;

  constructor(
    private readonly make: (name: string, code: string) => Thing,
    private readonly isIdle: (thing: Thing) => boolean,
  ) {}

  find(name: string, code: string): Thing | undefined {
    if (name === this.lastName && code === this.lastCode) return this.last;
    const thing = this.names.get(name)?.get(code);
    if (thing) this.note(name, code, thing);
    return thing;
  }

  findOrMake(name: string, code: string): Thing {
    let thing = this.find(name, code);
    if (!thing) {
      if (this.size >= this.most) this.dropIdle();
      thing = this.make(name, code);
      const codes = this.names.get(name) ?? new Map<string, Thing>();
      this.names.set(name, codes.set(code, thing));
      this.size += 1;
      this.note(name, code, thing);
    }
    return thing;
  }

  *[Symbol.iterator](): Generator<Thing> {
    for (const codes of this.names.values()) yield* codes.values();
  }

  private note(name: string, code: string, thing: Thing): void {
    this.lastName = name;
    this.lastCode = code;
    this.last = thing;
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
