/** Refusals remembered until the moment they promised: who is refused is refused again without a call of the store. */

import { measure } from '../algorithms/decide.js';
import { type Clock, systemClock } from '../base/clock.js';
import { detached, type Fingerprint, randomSeed, shortened } from '../base/fingerprint.js';
import type { Answer } from '../contract/ask.js';
import { countOf, sameRule } from '../contract/rule.js';
import type { Step } from '../contract/store.js';
import { RefusalTable } from './refusal-table.js';

/** How many refusals are remembered; the oldest make room. */
const KEPT = 50_000;
/** Longer keys are kept as fingerprints, so that the number of refusals bounds their bytes. */
const LONGEST_KEY = 64;
/** Of one limiter: a client may choose its limit, and with it the count. */
const MOST_CODES = 64;
/** How many entries each answer of the store looks at, whether they are over. */
const SWEEP = 2;

/** Then the store is asked again all the same: so soon does a refund or a reset by another process free a key here. */
const LONGEST_US = 60_000_000;

/** Slots for the moments at which something was given back. Two keys that share one only learn a refusal later. */
const SLOTS = 1_024;

/** The places in the table of the keys of one count, the oldest first. */
type Places = Map<string, number>;

/**
 * Exact for every rule about what was done over time: nothing but a refund, a reset or a change of the rule can admit a
 * cost sooner than was promised. Never for leases, which may be free again at any time.
 */
export class Refusals {
  private readonly table = new RefusalTable();
  /** By limiter, then by the code of the count. */
  private readonly limiters = new Map<string, Map<string, Places>>();
  private readonly givenBackUs = new Float64Array(SLOTS);
  private seed: Fingerprint | undefined;
  private swept = 0;
  private kept = 0;
  private readonly clock: Clock;
  private readonly longestUs: number;

  /** `longestUs`: how long the store lets a refusal be remembered. */
  constructor(clock: Clock = systemClock, longestUs: number = LONGEST_US) {
    this.clock = clock;
    this.longestUs = longestUs;
  }

  /** Refusals remembered now. */
  get size(): number {
    return this.kept;
  }

  /** The store's own answer to `step`, brought to now, if it is sure to be a refusal. */
  find(step: Step): Answer | undefined {
    const { table } = this;
    const place = this.placeOf(step);
    if (place === undefined) return undefined;
    const nowUs = this.clock.nowUs();
    const rule = table.ruleOf(place);
    if (nowUs >= table.untilUs(place) || (rule !== step.rule && !sameRule(rule, step.rule))) {
      this.drop(place);
      return undefined;
    }
    const tells = rule.logic.refusals?.tells(step.cost, table.costOf(place));
    return tells ? table.answerAt(place, nowUs) : undefined;
  }

  /**
   * Notes `answer` to `step`, which was asked at `askedUs`: a refusal that will end is remembered, a grant makes older
   * ones untrue.
   */
  learn(step: Step, answer: Answer, askedUs: number): void {
    this.sweep();
    const { rule, cost } = step;
    const { refusals } = rule.logic;
    if (answer.failure || !refusals) return;
    if (step.op === 'record' || answer.allowed) this.forgetCount(step);
    if (step.op !== 'take' || answer.allowed || !step.binding || answer.provisional) return;
    // Decided, perhaps, before something was given back.
    if (askedUs <= (this.givenBackUs[slotOf(step)] as number)) return;
    const holdsMs = refusals.holdsMs(rule, measure(rule, answer, cost), cost);
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

  /** Something was changed live: what was asked before, even if it is answered later, may not hold any more. */
  clear(): void {
    this.limiters.clear();
    this.table.clear();
    this.kept = 0;
    this.givenBackUs.fill(this.clock.nowUs());
  }

  now(): number {
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

  /** Nearly always nobody is refused, so that there is nothing to look for. */
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

  /** Drops what is over among the next few: nobody may ever ask for it again. */
  private sweep(): void {
    const { table } = this;
    for (let count = 0; count < SWEEP && this.kept > 0; count += 1) {
      this.swept = this.swept + 1 < table.length ? this.swept + 1 : 0;
      if (table.isKept(this.swept) && this.now() >= table.untilUs(this.swept)) {
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
