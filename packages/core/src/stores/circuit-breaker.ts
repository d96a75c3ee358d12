/**
 * The circuit breaker of one store. While a part of the store fails, requests don't wait for it, except one that must
 * send the probe. While a part is slow, only steps that the fallback counters can't decide wait for it.
 */

import { timeoutOf } from '../algorithms/group.js';
import { type Clock, systemClock } from '../base/clock.js';
import { asError, isOfTheCall, isSpillwayError, messageOf, SpillwayError } from '../base/errors.js';
import { afterIdly, endsTimersWithRequests, outside } from '../base/host.js';
import { isEnd } from '../contract/ask.js';
import type { BreakerEvent } from '../contract/observer.js';
import type { Step, Store } from '../contract/store.js';
import type { AskOptions, BreakerSettings } from '../contract/store-link.js';
import { OTHER_PARTS, OutageLog } from './outage-log.js';
import { Probe, type ProbeSender } from './probe.js';

const WINDOW_SECONDS = 10;

const LEAST_CALLS = 20;

/**
 * Slow calls open the breaker only if they occur in at least this many seconds of the window. A pause of up to two
 * seconds, such as a fork of Redis, is too short. In a relapse (see {@link RELAPSE_US}), one second is enough.
 */
const LEAST_SLOW_SECONDS = 4;

/** The usual latency is learned from this many samples, one per second; at first, from {@link FIRST_SAMPLES}. */
const SAMPLES = 60;

const FIRST_SAMPLES = 10;

/** By default, a call counts as slow only if it takes at least this much longer than the median. */
const MARGIN_US = 10_000;

/** Outcomes of a call, and their offsets in a bucket. Offset 0 counts all calls. */
const HEALTHY = 0;
const FAILED = 1;
const SLOW = 2;

/**
 * Learns the usual latency from the first call of each second, unless that call failed. A fixed threshold would be
 * wrong for a store in another region, and a moving average would learn slow calls as usual.
 */
class Health {
  /** Calls that take longer are slow; Infinity until the usual latency is known. */
  slowUs: number = Infinity;
  private readonly counts: number[] = new Array(3 * WINDOW_SECONDS).fill(0);
  private second = 0;
  private samples: number[] = [];

  count(nowUs: number, outcome: typeof HEALTHY | typeof FAILED | typeof SLOW, tookUs = 0): boolean {
    const { counts } = this;
    const second = Math.max(this.second, Math.floor(nowUs / 1_000_000));
    const isFirst = second > this.second;
    if (isFirst) {
      const from = Math.max(this.second + 1, second - WINDOW_SECONDS + 1);
      for (let i = from; i <= second; i += 1) counts.fill(0, bucketOf(i), bucketOf(i) + 3);
      this.second = second;
      if (outcome !== FAILED) this.addLatency(tookUs);
    }
    const at = bucketOf(second);
    counts[at] = (counts[at] as number) + 1;
    if (outcome) counts[at + outcome] = (counts[at + outcome] as number) + 1;
    return isFirst;
  }

  /**
   * @param isRelapse whether the breaker was open shortly before because of slow calls or a high failure rate. If so,
   * slow calls in a single second suffice for a diagnosis
   */
  diagnose(isRelapse: boolean): { isSlow: boolean; bad: number; calls: number } | undefined {
    let calls = 0;
    let failed = 0;
    let slow = 0;
    let slowSeconds = 0;
    for (let at = 0; at < this.counts.length; at += 3) {
      const [made, lost, late] = this.counts.slice(at, at + 3) as [number, number, number];
      calls += made;
      failed += lost;
      slow += late;
      if (late > 0) slowSeconds += 1;
    }
    if (calls < LEAST_CALLS) return undefined;
    if (5 * failed > calls) return { isSlow: false, bad: failed, calls };
    if (10 * slow <= calls || (slowSeconds < LEAST_SLOW_SECONDS && !isRelapse)) return undefined;
    return { isSlow: true, bad: slow, calls };
  }

  /** Forgets the counted calls and, if they were slow, the samples: slow calls would look usual. */
  forgetCalls(wereSlow: boolean): void {
    this.counts.fill(0);
    if (wereSlow) this.samples = [];
  }

  private addLatency(tookUs: number): void {
    const { samples } = this;
    const length = samples.push(tookUs);
    if (length < (this.slowUs < Infinity ? SAMPLES : FIRST_SAMPLES)) return;
    samples.sort((a, b) => a - b);
    const median = samples[length / 2] as number;
    const ninth = samples[length * 0.9] as number;
    // Over HTTP, a tenth of the calls may regularly take much longer than the median.
    this.slowUs = Math.max(median + MARGIN_US, 1.25 * ninth);
    this.samples = [];
  }
}

function bucketOf(second: number): number {
  return 3 * (second % WINDOW_SECONDS);
}

const WATCH_US = 10_000_000;

/**
 * A call is sent, answered and read within this many turns of the event loop, even if it waits for calls before it. If
 * a late answer took at most this many turns, the event loop was slow, not the store.
 */
const TURNS_OF_A_CALL = 4;

/** Counts turns of the event loop, to tell answers that arrived late from answers that were read late. */
export class LoopTurns {
  /** Turns since counting began; -1 while turns are not counted. */
  now = -1;
  private lateUs = 0;
  /** False on Workers, where timers end with their request and the clock stands still during computation. */
  private readonly counts = !endsTimersWithRequests();
  private readonly clock: Clock;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /**
   * Returns whether a late answer shows that the store is slow. If few turns have passed since the call, the event loop
   * was slow instead. Always true if turns can't be counted.
   *
   * @param then {@link now} at the time of the call
   * @param unknown the result if turns were not counted at that time
   */
  hasPassedSince(then: number, unknown: boolean): boolean {
    if (!this.counts) return true;
    this.lateUs = this.clock.nowUs();
    if (this.now < 0) {
      this.now = 0;
      this.watchLoop();
    }
    return then < 0 ? unknown : this.now - then > TURNS_OF_A_CALL;
  }

  private watchLoop(): void {
    afterIdly(1, () => {
      const isOver = this.clock.nowUs() - this.lateUs > WATCH_US;
      this.now = isOver ? -1 : this.now + 1;
      if (!isOver) this.watchLoop();
    });
  }
}

/**
 * Maximum number of parts with separate states; few clusters have more nodes. A further part replaces one that is
 * healthy or no longer requested. If no part can be replaced, all further parts share one breaker, which opens once
 * this many of them have failed without a success in between.
 */
const MOST_PARTS = 1_000;

/** How long a part is kept after a call that failed, was slow, or was skipped. */
const KEPT_US = 10_000_000;

/** How much longer a call may take for each additional step. On Redis, a step took up to 0.1 ms. */
const STEP_US = 200;

/** Failures further apart than this don't count as consecutive. */
const ROW_US = 60_000_000;

/** How long probes must succeed before the breaker closes again after slow calls or a high failure rate. */
const HEALTHY_US = 400_000;

/**
 * If slow calls or a high failure rate open the breaker this soon after an outage with such a cause, probes must
 * succeed for twice as long as in that outage, at most for {@link LONGEST_HEALTHY_US}.
 */
const RELAPSE_US = 60_000_000;
const LONGEST_HEALTHY_US = 64 * HEALTHY_US;

export class CircuitBreaker {
  readonly log: OutageLog;
  readonly clock: Clock;
  readonly turns: LoopTurns;
  /** The parts with separate states. In a full map, the least recently called comes first, and is replaced first. */
  private readonly parts = new Map<string, StorePart>();
  private readonly others = new StorePart(OTHER_PARTS);
  /** The parts in {@link others} that have failed since the last call that succeeded. */
  private readonly suspects = new Set<string>();
  private openParts = 0;
  /** By the object that listens, because many guards can have the same observer. Must not throw. */
  readonly listeners: Map<object, (event: BreakerEvent) => void> = new Map();
  private readonly store: Pick<Store, 'domainOf' | 'label'>;
  private readonly settings: BreakerSettings;

  constructor(
    store: Pick<Store, 'domainOf' | 'label'>,
    settings: BreakerSettings,
    clock: Clock = systemClock,
  ) {
    this.store = store;
    this.settings = settings;
    this.clock = clock;
    this.turns = new LoopTurns(clock);
    this.log = new OutageLog(() => store.label ?? 'the store', clock);
  }

  /**
   * Returns an error if these steps should not be sent to the store. If this request must wait for a probe that it
   * sends, returns a promise. All steps must lie in one part. Background calls never send the probe.
   */
  bar(
    steps: readonly Step[],
    { host, background = false }: AskOptions = {},
  ): Error | undefined | Promise<Error | undefined> {
    const [step] = steps;
    if (this.openParts === 0 || !step) return undefined;
    const name = domainOf(this.store, step);
    const part = this.parts.get(name) ?? this.others;
    const { probe, reason } = part;
    if (!probe) return undefined;
    const isAsked = reason === 'slow' && (background || !steps.every(isDecidedHere));
    if (background) return isAsked ? undefined : unasked(reason);
    part.badUs = this.clock.nowUs();
    // Probe a part that is not known to fail: a part that keeps failing must not keep the shared breaker open.
    if (part === this.others && !this.suspects.has(name)) probe.aimAt(step);
    const answered = probe.noteDemand(host);
    if (isAsked) return undefined;
    if (!answered) return unasked(reason);
    return answered.then(() => (part.probe ? unasked(part.reason) : undefined));
  }

  succeeded(steps: readonly Step[], startUs: number, turn: number, sender: ProbeSender): void {
    const [step] = steps as readonly [Step];
    const nowUs = this.clock.nowUs();
    const name = domainOf(this.store, step);
    const part = this.partOf(name, nowUs);
    if (this.suspects.size > 0 && !this.others.probe) this.suspects.clear();
    part.failures = 0;
    if (part.probe || part === this.others || startUs < part.closedUs) return;
    const tookUs = nowUs - startUs;
    const isSlow = this.isSlow(part, tookUs, turn, steps.length);
    if (part.health.count(nowUs, isSlow ? SLOW : HEALTHY, tookUs)) this.touch(name, part);
    if (isSlow) this.diagnose(part, step, sender, nowUs);
  }

  failed(steps: readonly Step[], thrown: unknown, startUs: number, sender: ProbeSender): void {
    if (isOfTheCall(thrown)) return;
    const [step] = steps as readonly [Step];
    const nowUs = this.clock.nowUs();
    const name = domainOf(this.store, step);
    const part = this.partOf(name, nowUs);
    if (startUs < part.closedUs) return;
    if (nowUs - part.badUs > ROW_US) {
      part.failures = 0;
      if (part === this.others) this.suspects.clear();
    }
    part.badUs = nowUs;
    let most = this.settings.failures;
    if (part === this.others) {
      if (part.probe) return;
      part.failures = this.suspects.add(name).size;
      most = MOST_PARTS;
    } else {
      part.failures += 1;
      if (isSpillwayError(thrown) && thrown.code === 'SPW_STORE_UNAVAILABLE') {
        part.failures = most;
      }
      part.health.count(nowUs, FAILED);
    }
    const isDown = part.failures >= most;
    if (part.probe) {
      if (isDown) part.reason = 'failures'; // the breaker was open because the part was slow
    } else if (isDown) this.openPart(part, step, sender, nowUs, 'failures', asError(thrown), 0);
    else if (part !== this.others) this.diagnose(part, step, sender, nowUs, thrown);
  }

  private diagnose(
    part: StorePart,
    step: Step,
    sender: ProbeSender,
    nowUs: number,
    thrown?: unknown,
  ): void {
    const isRelapse = part.healthyUs > 0 && nowUs - part.closedUs < RELAPSE_US;
    part.badUs = nowUs;
    const found = part.health.diagnose(isRelapse);
    if (!found) return;
    const { isSlow, bad, calls } = found;
    const what = isSlow
      ? `took longer than ${Math.round(this.slowUsOf(part) / 1000)} ms`
      : `failed, the last with: ${messageOf(thrown)}`;
    const text = `${bad} of ${calls} calls in ${WINDOW_SECONDS} s ${what}`;
    const kind = isSlow ? 'slow' : 'failing';
    const error = new SpillwayError('SPW_STORE_UNAVAILABLE', text, { kind, cause: thrown });
    const healthyUs = isRelapse ? Math.min(2 * part.healthyUs, LONGEST_HEALTHY_US) : HEALTHY_US;
    this.openPart(part, step, sender, nowUs, isSlow ? 'slow' : 'failures', error, healthyUs);
  }

  private openPart(
    part: StorePart,
    step: Step,
    sender: ProbeSender,
    nowUs: number,
    reason: BreakerEvent['reason'],
    error: Error,
    healthyUs: number,
  ): void {
    part.healthyUs = healthyUs;
    part.probe = this.probe(part, step, sender);
    part.reason = reason;
    part.openedUs = nowUs;
    part.badUs = nowUs;
    part.failures = 0;
    part.health.forgetCalls(reason === 'slow');
    this.openParts += 1;
    // Timers that loggers and listeners start must not keep the async context of this request alive.
    outside(() => {
      this.log.opened(part.name, error, reason === 'slow');
      this.notifyListeners({ state: 'open', reason, openMs: 0, error, ...named(part) });
    });
  }

  private probe(part: StorePart, { key }: Step, sender: ProbeSender): Probe {
    const { clock, turns } = this;
    return new Probe({
      sender,
      key,
      everyUs: this.settings.probeUs,
      healthyUs: () => part.healthyUs,
      clock,
      startTiming: () => {
        const startUs = clock.nowUs();
        const turn = turns.now;
        return () => {
          if (!this.isSlow(part, clock.nowUs() - startUs, turn, 1, true)) return true;
          // The store answers again, but slowly: if the breaker closed now, it would only open again.
          if (part.reason === 'slow') return false;
          part.reason = 'slow';
          part.healthyUs ||= HEALTHY_US;
          part.health.forgetCalls(true);
          this.log.stillDown(part.name, unasked('slow'));
          return false;
        };
      },
      back: () => this.closePart(part),
      failed: (error, question) => this.probeFailed(part, error, question),
    });
  }

  private probeFailed(part: StorePart, error: unknown, question: Step): void {
    this.log.stillDown(part.name, error);
    if (part !== this.others) {
      part.failures += 1;
      if (part.failures >= this.settings.failures) part.reason = 'failures';
      return;
    }
    if (this.suspects.size >= 2 * MOST_PARTS) this.suspects.clear();
    this.suspects.add(domainOf(this.store, question));
  }

  /** @param isForgotten true if the part is dropped to make room; whether it works again is then unknown */
  private closePart(part: StorePart, isForgotten = false): void {
    if (!part.probe) return;
    const nowUs = this.clock.nowUs();
    const openMs = (nowUs - part.openedUs) / 1000;
    part.probe.stopProbing();
    part.probe = undefined;
    part.closedUs = nowUs;
    part.badUs = nowUs;
    part.failures = 0;
    this.openParts -= 1;
    if (part === this.others) this.suspects.clear();
    this.log.closed(part.name, isForgotten ? undefined : openMs);
    this.notifyListeners({ state: 'closed', reason: part.reason, openMs, ...named(part) });
  }

  private isSlow(
    part: StorePart,
    tookUs: number,
    turn: number,
    steps: number,
    unknown = false,
  ): boolean {
    const isLate = tookUs > timeoutOf(steps, this.slowUsOf(part)) + (steps - 1) * STEP_US;
    return isLate && this.turns.hasPassedSince(turn, unknown);
  }

  private slowUsOf(part: StorePart): number {
    return this.settings.slowUs ?? part.health.slowUs;
  }

  private partOf(name: string, nowUs: number): StorePart {
    const known = this.parts.get(name);
    if (known) return known;
    if (this.others.probe || !this.hasRoom(nowUs)) return this.others;
    const part = new StorePart(name);
    this.parts.set(name, part);
    return part;
  }

  private hasRoom(nowUs: number): boolean {
    if (this.parts.size < MOST_PARTS) return true;
    for (const [name, part] of this.parts) {
      if (nowUs - part.badUs <= KEPT_US) continue;
      this.closePart(part, true);
      return this.parts.delete(name);
    }
    return false;
  }

  private touch(name: string, part: StorePart): void {
    if (this.parts.size < MOST_PARTS) return;
    this.parts.delete(name);
    this.parts.set(name, part);
  }

  private notifyListeners(event: BreakerEvent): void {
    for (const listener of this.listeners.values()) listener(event);
  }
}

function named({ name }: StorePart): { part?: string } {
  return name === '' ? {} : { part: name };
}

/**
 * Whether the fallback counters decide a step while the store is slow. The store still decides claims, releases,
 * refunds, settlements, steps whose `onStoreError` is `allow` or `deny`, and steps of shapers, whose jobs wait anyway.
 */
function isDecidedHere(step: Step): boolean {
  const { rule, onStoreError } = step;
  const isCounted = typeof onStoreError === 'object' && !rule.logic?.failsClosed;
  return isCounted && rule.machine !== 'queue' && !isEnd(step);
}

function unasked(reason: BreakerEvent['reason']): SpillwayError {
  const isSlow = reason === 'slow';
  const text = `the store ${isSlow ? 'is slow' : 'did not answer'}, and its circuit breaker is open`;
  return new SpillwayError('SPW_STORE_UNAVAILABLE', text, isSlow ? { kind: 'slow' } : undefined);
}

class StorePart {
  readonly name: string;
  readonly health: Health = new Health();
  failures: number = 0;
  /** When a call last failed, was slow, or was skipped because the breaker was open. */
  badUs: number = -Infinity;
  /** When the breaker last closed. Results of calls that began before this moment are ignored. */
  closedUs: number = -Infinity;
  reason: BreakerEvent['reason'] = 'failures';
  /** How long probes must succeed before the breaker closes. At 0, one success is enough. */
  healthyUs: number = 0;
  probe: Probe | undefined;
  openedUs = 0;

  constructor(name: string) {
    this.name = name;
  }
}

/** The part of the store on which a step depends: `''` if there is only one, or `domainOf` throws. */
export function domainOf(store: Pick<Store, 'domainOf'>, step: Step): string {
  try {
    return store.domainOf?.(step) ?? '';
  } catch {
    return '';
  }
}
