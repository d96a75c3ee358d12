/** The denial cache: until the moment it was promised, a rejected key is rejected without a call of the store. */

import { measure } from '../algorithms/decide.js';
import { type Clock, systemClock } from '../base/clock.js';
import { detached, type Fingerprint, randomSeed, shortened } from '../base/fingerprint.js';
import type { Answer } from '../contract/ask.js';
import { countOf, type DenialMemory, type Rule, sameRule } from '../contract/rule.js';
import type { Step } from '../contract/store.js';

/** How many denials are kept; the oldest are evicted. */
const KEPT = 50_000;
/** Longer keys are kept as fingerprints, so that the number of denials bounds their bytes. */
const LONGEST_KEY = 64;
/** Of one limiter: a client may choose its limit, and with it the count. */
const MOST_CODES = 64;
/** How many entries each answer of the store checks for expiry. */
const SWEEP = 2;

/** Then the store is asked again anyway: this bounds how late a refund or reset by another process frees a key here. */
const LONGEST_US = 60_000_000;

/** Slots for the moments at which something was given back. Two keys that share one only cache a denial later. */
const SLOTS = 1_024;

/** The places in the table of the keys of one count, the oldest first. */
type Places = Map<string, number>;

/**
 * Exact for every rule about what was done over time: nothing but a refund, a reset or a change of the rule can admit a
 * cost sooner than was promised. Never for leases, which may be free again at any time.
 */
export class DenialCache {
  private readonly table = new DenialTable();
  /** By limiter, then by the code of the count. */
  private readonly limiters = new Map<string, Map<string, Places>>();
  private readonly givenBackUs = new Float64Array(SLOTS);
  private seed: Fingerprint | undefined;
  private swept = 0;
  private kept = 0;
  private readonly clock: Clock;
  private readonly longestUs: number;

  /** `longestUs`: how long the store lets a denial be cached. */
  constructor(clock: Clock = systemClock, longestUs: number = LONGEST_US) {
    this.clock = clock;
    this.longestUs = longestUs;
  }

  /** Denials in the cache now. */
  get size(): number {
    return this.kept;
  }

  /** The store's own answer to `step`, brought to now, if it is sure to be a denial. */
  denialOf(step: Step): Answer | undefined {
    const { table } = this;
    const place = this.placeOf(step);
    if (place === undefined) return undefined;
    const nowUs = this.clock.nowUs();
    const rule = table.ruleOf(place);
    if (nowUs >= table.untilUs(place) || (rule !== step.rule && !sameRule(rule, step.rule))) {
      this.drop(place);
      return undefined;
    }
    const tells = rule.logic.denials?.tells(step.cost, table.costOf(place));
    return tells ? table.answerAt(place, nowUs) : undefined;
  }

  /**
   * Notes `answer` to `step`, which was asked at `askedUs`: caches a denial that will end; a grant evicts older ones.
   */
  learnAnswer(step: Step, answer: Answer, askedUs: number): void {
    this.sweep();
    const { rule, cost } = step;
    const { denials } = rule.logic;
    if (answer.failure || !denials) return;
    if (step.op === 'record' || answer.allowed) this.forgetCount(step);
    if (step.op !== 'take' || answer.allowed || !step.binding || answer.provisional) return;
    // Decided, perhaps, before something was given back.
    if (askedUs <= (this.givenBackUs[slotOf(step)] as number)) return;
    const holdsMs = denials.holdsMs(rule, measure(rule, answer, cost), cost);
    if (!(holdsMs > 0)) return;
    this.keep(step, answer, askedUs + Math.min(Math.round(holdsMs * 1000), this.longestUs));
  }

  /**
   * Something is given back to the count of `step`, or was just now; a reset is about all counts of its limiter and
   * key. Call it when the store is asked to, and again when it has answered.
   */
  forget(step: Step): void {
    this.givenBackUs[slotOf(step)] = this.clock.nowUs();
    if (step.op !== 'reset') {
      this.forgetCount(step);
      return;
    }
    const name = this.nameOf(step.key);
    for (const places of this.limiters.get(step.limiter)?.values() ?? []) {
      const place = places.get(name);
      if (place !== undefined) this.drop(place);
    }
  }

  /** Something was changed live: answers to what was asked before may not hold any more, even those that come later. */
  clear(): void {
    this.limiters.clear();
    this.table.clear();
    this.kept = 0;
    this.givenBackUs.fill(this.clock.nowUs());
  }

  nowUs(): number {
    return this.clock.nowUs();
  }

  private keep(step: Step, answer: Answer, untilUs: number): void {
    this.forgetCount(step);
    if (this.kept >= KEPT) this.makeRoom();
    const { limiter, rule, cost } = step;
    const places = this.placesOf(limiter, countOf(step));
    const name = detached(this.nameOf(step.key));
    const learnedUs = this.clock.nowUs();
    places.set(name, this.table.add({ limiter, name, rule, cost, answer, learnedUs, untilUs }));
    this.kept += 1;
  }

  private placesOf(limiter: string, code: string): Places {
    let codes = this.limiters.get(limiter);
    if (!codes) {
      codes = new Map();
      this.limiters.set(limiter, codes);
    }
    let places = codes.get(code);
    if (!places) {
      if (codes.size >= MOST_CODES) this.dropOldest(codes);
      places = new Map();
      codes.set(code, places);
    }
    return places;
  }

  /** Nearly always no key is denied: then there is nothing to look for. */
  private placeOf(step: Step): number | undefined {
    if (this.kept === 0) return undefined;
    return this.limiters.get(step.limiter)?.get(countOf(step))?.get(this.nameOf(step.key));
  }

  private forgetCount(step: Step): void {
    const place = this.placeOf(step);
    if (place !== undefined) this.drop(place);
  }

  private drop(place: number): void {
    const { table } = this;
    const codes = this.limiters.get(table.limiterOf(place));
    const { code } = table.ruleOf(place);
    const places = codes?.get(code);
    places?.delete(table.nameOf(place));
    if (places?.size === 0) codes?.delete(code);
    table.remove(place);
    this.kept -= 1;
  }

  private dropOldest(codes: Map<string, Places>): void {
    const [oldest] = codes.values();
    for (const place of oldest?.values() ?? []) this.drop(place);
  }

  /** Of the count that has most. */
  private makeRoom(): void {
    let most: Places | undefined;
    for (const codes of this.limiters.values()) {
      for (const places of codes.values()) {
        if (places.size > (most?.size ?? 0)) most = places;
      }
    }
    const oldest = most?.values().next();
    if (oldest && !oldest.done) this.drop(oldest.value);
  }

  /** Evicts the expired among the next few entries: no request may ever ask for them again. */
  private sweep(): void {
    const { table } = this;
    for (let count = 0; count < SWEEP && this.kept > 0; count += 1) {
      this.swept = this.swept + 1 < table.length ? this.swept + 1 : 0;
      if (table.isKept(this.swept) && this.nowUs() >= table.untilUs(this.swept)) {
        this.drop(this.swept);
      }
    }
  }

  private nameOf(key: string): string {
    if (key.length <= LONGEST_KEY) return key;
    this.seed ??= randomSeed();
    return shortened(key, this.seed);
  }
}

function slotOf({ limiter, key }: Step): number {
  let hash = limiter.length;
  for (let i = 0; i < key.length; i += 1) hash = (Math.imul(hash, 31) + key.charCodeAt(i)) | 0;
  return hash & (SLOTS - 1);
}

/** What is kept of a denial. */
interface Denial {
  readonly limiter: string;
  /** What stands for the key. */
  readonly name: string;
  readonly rule: Rule;
  readonly cost: number;
  readonly answer: Answer;
  /** On the process's clock: when the answer came, later than the store decided. */
  readonly learnedUs: number;
  /** On the process's clock: counted from when the store was asked, sooner than it decided. */
  readonly untilUs: number;
}

/** Numbers of one denial: until, the store's clock less ours, cost, and at most five of its answer. */
const WIDTH = 8;

/**
 * Denials in a flat table: what is known of one lies together in memory. Among 40,000 keys a denial takes 0.76 µs; with
 * an object for each in a map it took 1.65 (section "refused again" of the benchmarks).
 */
class DenialTable {
  private numbers = new Float64Array(64 * WIDTH);
  private readonly rules: (Rule | undefined)[] = [];
  private readonly limiters: string[] = [];
  private readonly names: string[] = [];
  private readonly free: number[] = [];

  /** The place of a denial, until it is removed. */
  add({ limiter, name, rule, cost, answer, learnedUs, untilUs }: Denial): number {
    const place = this.free.pop() ?? this.rules.length;
    const at = place * WIDTH;
    if (at === this.numbers.length) this.grow();
    this.rules[place] = rule;
    this.limiters[place] = limiter;
    this.names[place] = name;
    this.numbers[at] = untilUs;
    this.numbers[at + 1] = answer.nowUs - learnedUs;
    this.numbers[at + 2] = cost;
    rule.logic.denials?.write(answer, this.numbers, at + 3);
    return place;
  }

  remove(place: number): void {
    this.rules[place] = undefined;
    this.names[place] = '';
    this.free.push(place);
  }

  clear(): void {
    this.rules.length = 0;
    this.limiters.length = 0;
    this.names.length = 0;
    this.free.length = 0;
  }

  /** Places there are, with or without a denial. */
  get length(): number {
    return this.rules.length;
  }

  isKept(place: number): boolean {
    return this.rules[place] !== undefined;
  }

  limiterOf(place: number): string {
    return this.limiters[place] as string;
  }

  nameOf(place: number): string {
    return this.names[place] as string;
  }

  ruleOf(place: number): Rule {
    return this.rules[place] as Rule;
  }

  untilUs(place: number): number {
    return this.numbers[place * WIDTH] as number;
  }

  costOf(place: number): number {
    return this.numbers[place * WIDTH + 2] as number;
  }

  /** The store's denial, brought to `nowUs` of our clock. */
  answerAt(place: number, nowUs: number): Answer {
    const { numbers } = this;
    const at = place * WIDTH;
    const rule = this.ruleOf(place);
    const storeUs = nowUs + (numbers[at + 1] as number);
    return (rule.logic.denials as DenialMemory).read(rule, numbers, at + 3, storeUs);
  }

  private grow(): void {
    const numbers = new Float64Array(this.numbers.length * 2);
    numbers.set(this.numbers);
    this.numbers = numbers;
  }
}
