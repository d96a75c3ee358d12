/** What all who use one store know of its parts: which do not answer, or answer slowly, and need not be waited for. */

import { timeoutOf } from '../algorithms/group.js';
import { type Clock, systemClock } from '../base/clock.js';
import { asError, isSpillwayError, messageOf, SpillwayError } from '../base/errors.js';
import { disregard, outside } from '../base/host.js';
import { isEnd } from '../contract/ask.js';
import type { BreakerEvent } from '../contract/observer.js';
import type { Step, Store } from '../contract/store.js';
import type { AskOptions, BreakerSettings } from '../contract/store-link.js';
import { FAILED, HEALTHY, Health, LoopTurns, SLOW, WINDOW_SECONDS } from './health.js';
import { OTHER_PARTS, OutageLog } from './outage-log.js';
import { Probe, type ProbeSender } from './probe.js';

type Listener = (event: BreakerEvent) => void;

/**
 * More parts than any cluster has. Further ones are told apart if one of these is healthy, and so can be forgotten. If
 * not, and as many of the further ones fail without an answer between them, all of them are taken for down.
 */
const MOST_PARTS = 1_000;

/** So long a part keeps its place after it failed or was slow, or after somebody wanted to ask it while it was down. */
const KEPT_US = 10_000_000;

/** A group takes so much longer for each further step, on a busy machine: measured up to 0.1 ms with Redis. */
const STEP_US = 200;

/** Failures with a longer pause between them are not in a row. */
const ROW_US = 60_000_000;

/** How long the probes of a part that was slow, or failed now and then, must be answered well. */
const HEALTHY_US = 400_000;

/** If it is slow again within this time, twice as long, up to 64 times. */
const RELAPSE_US = 60_000_000;
const LONGEST_HEALTHY_US = 64 * HEALTHY_US;

export class CircuitBreaker {
  readonly log: OutageLog;
  readonly clock: Clock;
  readonly turns: LoopTurns;
  /** The one that was not asked for the longest time comes first. */
  private readonly parts = new Map<string, StorePart>();
  /** Stands for all parts that have no place in {@link parts}. */
  private readonly others = new StorePart(OTHER_PARTS);
  /** Those of {@link others} that have failed since any part answered. */
  private readonly suspects = new Set<string>();
  private openParts = 0;
  private readonly listeners = new Set<Listener>();
  private readonly store: Pick<Store, 'domainOf' | 'label'>;
  private readonly settings: BreakerSettings;

  /** @param store whose it is: only asked for its parts and its name */
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

  /** Told when a part is taken for down, and when it is back. */
  listen(listener: Listener): void {
    this.listeners.add(listener);
  }

  /**
   * Why a group, all in one part, need not be asked; undefined if it should be. Later, if this request is the one that
   * asks whether the store is back: what is in the background never does.
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
    // A key that has failed must not keep the breaker of all others open.
    if (part === this.others && !this.suspects.has(name)) probe.aimAt(step);
    const answered = probe.noteDemand(host);
    if (isAsked) return undefined;
    if (!answered) return unasked(reason);
    return answered.then(() => (part.probe ? unasked(part.reason) : undefined));
  }

  /**
   * @param startUs when the group was asked, by {@link clock}
   * @param turn {@link turns} at that moment
   */
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

  /** As {@link succeeded}. */
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
      if (isDown) part.reason = 'failures'; // it was slow before
    } else if (isDown) this.open(part, step, sender, nowUs, 'failures', asError(thrown), 0);
    else if (part !== this.others) this.diagnose(part, step, sender, nowUs, thrown);
  }

  /** Opens the breaker of a part of whose last calls too many were slow, or failed. */
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
    this.open(part, step, sender, nowUs, isSlow ? 'slow' : 'failures', error, healthyUs);
  }

  private open(
    part: StorePart,
    step: Step,
    sender: ProbeSender,
    nowUs: number,
    reason: BreakerEvent['reason'],
    error: Error,
    healthyUs: number,
  ): void {
    part.healthyUs = healthyUs;
    part.open(this.probe(part, step, sender), reason, nowUs);
    this.openParts += 1;
    // No request is the cause, nor does its context outlive it in what loggers and listeners begin.
    outside(() => {
      this.log.opened(part.name, error, reason === 'slow');
      this.tell({ state: 'open', reason, openMs: 0, error, ...named(part) });
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
      begin: () => {
        const startUs = clock.nowUs();
        const turn = turns.now;
        return () => {
          if (!this.isSlow(part, clock.nowUs() - startUs, turn, 1, true)) return true;
          // It decides again, but late: to ask it would only open the breaker anew.
          if (part.reason === 'slow') return false;
          part.reason = 'slow';
          part.healthyUs ||= HEALTHY_US;
          part.health.clear(true);
          this.log.stillDown(part.name, unasked('slow'));
          return false;
        };
      },
      back: () => this.close(part),
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

  /** @param isForgotten if true, nobody knows whether it is back, nor asks */
  private close(part: StorePart, isForgotten = false): void {
    if (!part.probe) return;
    const openMs = part.close(this.clock.nowUs());
    this.openParts -= 1;
    if (part === this.others) this.suspects.clear();
    this.log.closed(part.name, isForgotten ? undefined : openMs);
    this.tell({ state: 'closed', reason: part.reason, openMs, ...named(part) });
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

  /** Makes room, if necessary, by forgetting a part that is healthy, or that nobody asks any more. */
  private hasRoom(nowUs: number): boolean {
    if (this.parts.size < MOST_PARTS) return true;
    for (const [name, part] of this.parts) {
      if (nowUs - part.badUs <= KEPT_US) continue;
      this.close(part, true);
      return this.parts.delete(name);
    }
    return false;
  }

  /** Forgotten last. */
  private touch(name: string, part: StorePart): void {
    if (this.parts.size < MOST_PARTS) return;
    this.parts.delete(name);
    this.parts.set(name, part);
  }

  private tell(event: BreakerEvent): void {
    for (const listener of this.listeners) {
      try {
        disregard(listener(event));
      } catch {
        // A listener that fails must not change what is decided.
      }
    }
  }
}

function named({ name }: StorePart): { part?: string } {
  return name === '' ? {} : { part: name };
}

/**
 * Whether this process can decide a step while the store is only slow. It cannot for claims, for `allow` and `deny`,
 * which would give up the limit, and for what is given back. Jobs that wait for their slot do not mind a slow store.
 */
function isDecidedHere(step: Step): boolean {
  const { rule, onStoreError } = step;
  const isCounted = typeof onStoreError === 'object' && !rule.logic?.failsClosed;
  return isCounted && rule.machine !== 'queue' && !isEnd(step);
}

/** Why a step was not asked. */
function unasked(reason: BreakerEvent['reason']): SpillwayError {
  const [does, options] =
    reason === 'slow' ? ['is slow', { kind: 'slow' }] : ['did not answer', undefined];
  return new SpillwayError('SPW_STORE_UNAVAILABLE', `the store ${does} and is not asked`, options);
}

/**
 * Whether an error says nothing about the next call: it was made before sending, or is about what this call asked for.
 */
function isOfTheCall(error: unknown): boolean {
  if (!isSpillwayError(error)) return false;
  return error.code !== 'SPW_STORE_TIMEOUT' && error.code !== 'SPW_STORE_UNAVAILABLE';
}

/** One part of a store, such as a node of a cluster: how its calls end, and whether it is asked. */
class StorePart {
  /** In logs and events; `''` for a store that has no parts. */
  readonly name: string;
  readonly health: Health = new Health();
  /** Calls in a row that have failed. */
  failures: number = 0;
  /** When a call last failed, was slow, or was not made because the part is down. */
  badUs: number = -Infinity;
  /** Calls that began before this moment say nothing about the part now. */
  closedUs: number = -Infinity;
  /** Why it is not asked, or was not asked when it last failed. */
  reason: BreakerEvent['reason'] = 'failures';
  /** How long its probes had to be answered well before it was asked again; 0: one answer was enough. */
  healthyUs: number = 0;
  /** There is one while the part is not asked. */
  probe: Probe | undefined;
  private openedUs = 0;

  constructor(name: string) {
    this.name = name;
  }

  open(probe: Probe, reason: BreakerEvent['reason'], nowUs: number): void {
    this.probe = probe;
    this.reason = reason;
    this.openedUs = nowUs;
    this.badUs = nowUs;
    this.failures = 0;
    this.health.clear(reason === 'slow');
  }

  /** Returns how long it was open, in milliseconds. */
  close(nowUs: number): number {
    this.probe?.end();
    this.probe = undefined;
    this.closedUs = nowUs;
    this.badUs = nowUs;
    this.failures = 0;
    return (nowUs - this.openedUs) / 1000;
  }
}

/** Which part of its store a step depends on: `''` where there is only one part, or nobody knows. */
export function domainOf(store: Pick<Store, 'domainOf'>, step: Step): string {
  try {
    return store.domainOf?.(step) ?? '';
  } catch {
    return '';
  }
}
