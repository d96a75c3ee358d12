const MANY = 1_024;

interface Codes<Thing> {
  readonly name: string;
  code: string;
  thing: Thing;
  readonly all: Map<string, Thing>;
}

/**
 * Holds one object for each limiter and rule code. Plans and live settings may give a limiter many codes, so idle
 * objects are evicted. Each object in use has an entry in the store, so the store's limit also bounds these objects.
 */
export class ByCount<Thing> {
  private readonly names = new Map<string, Codes<Thing>>();
  private size = 0;
  private most = MANY;
  private readonly make: (name: string, code: string) => Thing;
  private readonly isIdle: (thing: Thing) => boolean;
  private last: Codes<Thing> | undefined;

  constructor(make: (name: string, code: string) => Thing, isIdle: (thing: Thing) => boolean) {
    this.make = make;
    this.isIdle = isIdle;
  }

  find(name: string, code: string): Thing | undefined {
    let codes = this.last;
    if (codes === undefined || codes.name !== name) {
      codes = this.names.get(name);
      this.last = codes;
    }
    if (codes === undefined || codes.code === code) return codes?.thing;
    const thing = codes.all.get(code);
    if (thing !== undefined) {
      codes.code = code;
      codes.thing = thing;
    }
    return thing;
  }

  findOrMake(name: string, code: string): Thing {
    return this.find(name, code) ?? this.insert(name, code);
  }

  *[Symbol.iterator](): Generator<Thing> {
    for (const { all } of this.names.values()) yield* all.values();
  }

  private insert(name: string, code: string): Thing {
    if (this.size >= this.most) this.dropIdle();
    const thing = this.make(name, code);
    const all = this.names.get(name)?.all ?? new Map<string, Thing>();
    this.last = { name, code, thing, all: all.set(code, thing) };
    this.names.set(name, this.last);
    this.size += 1;
    return thing;
  }

  private dropIdle(): void {
    for (const [name, { all }] of this.names) {
      for (const [code, thing] of all) {
        if (!this.isIdle(thing)) continue;
        all.delete(code);
        this.size -= 1;
      }
      const [kept] = all;
      if (kept) this.names.set(name, { name, code: kept[0], thing: kept[1], all });
      else this.names.delete(name);
    }
    this.most = Math.max(MANY, 2 * this.size);
    this.last = undefined;
  }
}
