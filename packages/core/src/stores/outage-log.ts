/**
 * Tells loggers of outages: one line when a part of a store fails, one when it is back, and one a minute while it comes
 * and goes.
 */

import type { Clock } from '../base/clock.js';
import { isSpillwayError, messageOf, seeHelp } from '../base/errors.js';
import type { Logger } from '../base/host.js';
import { afterIdly, disregard } from '../base/host.js';
import type { OnStoreError } from '../contract/mode.js';

/** Each outage of a part that begins within this time of a line about it is only counted. */
const QUIET_US = 60_000_000;

/** More names of limiters would only make a line long. */
const MOST_NAMES = 8;

/** A part may be named by a key, which a client may have chosen. */
const MOST_NAME = 100;

/** So many parts are told of one by one. All others have one line together. */
const MOST_TOLD = 10;

/** What was told of one part of the store, or of all others, and when. */
export interface Told {
  /** How lines call it; undefined: the store itself. */
  readonly part: string | undefined;
  toldUs: number;
  /** Whether the outage now was told, so that its end will be. */
  isTold: boolean;
  /** How many outages have not ended. */
  open: number;
  /** Outages since then that were not told. */
  more: number;
  lastError: unknown;
  hint: boolean;
}

export class OutageLog {
  private readonly loggers = new Set<Logger>();
  private readonly policies = new Map<string, OnStoreError>();
  /** By name; under undefined those that have no line of their own. */
  private readonly parts = new Map<string | undefined, Told>();
  private readonly label: () => string;
  private readonly clock: Clock;

  /** @param label what the store is called */
  constructor(label: () => string, clock: Clock) {
    this.label = label;
    this.clock = clock;
  }

  /** Tells `logger` too; each once, however many guards have it. */
  tell(logger: Logger): void {
    this.loggers.add(logger);
  }

  /** Notes what a limiter does while the store does not decide. */
  note(limiter: string, policy: OnStoreError): void {
    this.policies.set(limiter, policy);
  }

  /**
   * A part does not decide. Returns what the end of that is to be told with.
   *
   * @param part `''` if the store has only one; undefined: all of which no other line tells
   */
  opened(part: string | undefined, error: unknown): Told {
    const nowUs = this.clock.nowUs();
    const name = this.parts.has(part) || this.parts.size < MOST_TOLD ? part : undefined;
    const told = this.parts.get(name);
    const isQuiet = told && nowUs - told.toldUs < QUIET_US;
    if (told && (isQuiet || told.open > 0)) {
      told.open += 1;
      told.isTold = told.open > 1 && told.isTold;
      told.more += 1;
      told.lastError = error;
      if (!isQuiet) this.sumUp(told);
      return told;
    }
    if (told && told.more > 0) this.sumUp(told);
    const fresh = told ?? this.added(name);
    this.renew(fresh, error);
    fresh.open = 1;
    fresh.isTold = true;
    fresh.hint = false;
    this.warn(
      `${this.nameOf(fresh)} does not decide (${textOf(error)}). ${this.meanwhile()}${seeHelp(error)}`,
    );
    return fresh;
  }

  closed(told: Told, openMs: number): void {
    told.open -= 1;
    if (told.open > 0) return;
    if (this.clock.nowUs() - told.toldUs >= QUIET_US && told.more === 0)
      this.parts.delete(told.part);
    if (told.isTold) {
      this.warn(`${this.nameOf(told)} decides again, after ${(openMs / 1000).toFixed(1)} s.`);
    }
  }

  /** The store was asked again, in vain. What its user can do about it is told once in an outage. */
  stillDown(told: Told, error: unknown): void {
    if (told.hint || !isSpillwayError(error) || error.kind !== 'hung') return;
    told.hint = true;
    this.warn(`${this.nameOf(told)}: ${textOf(error)}.${seeHelp(error)}`);
  }

  private added(part: string | undefined): Told {
    const told = {
      part,
      toldUs: 0,
      isTold: true,
      open: 0,
      more: 0,
      lastError: undefined,
      hint: false,
    };
    this.parts.set(part, told);
    return told;
  }

  /** A line about it is written now: the next one in a minute. */
  private renew(told: Told, lastError: unknown): void {
    told.toldUs = this.clock.nowUs();
    told.more = 0;
    told.lastError = lastError;
    afterIdly(QUIET_US / 1000, () => {
      if (this.parts.get(told.part) !== told) return;
      if (told.more > 0) this.sumUp(told);
      else if (told.open === 0) this.parts.delete(told.part);
    });
  }

  private sumUp(told: Told): void {
    const times = told.more === 1 ? 'once more' : `${told.more} times more`;
    const now = told.open > 0 ? `it does not now. ${this.meanwhile()}` : 'it does now.';
    const { lastError } = told;
    told.isTold = told.open > 0;
    this.renew(told, lastError);
    this.warn(
      `${this.nameOf(told)} did not decide ${times} in the last minute (${textOf(lastError)}); ${now}${seeHelp(lastError)}`,
    );
  }

  private nameOf({ part }: Told): string {
    if (part === undefined) return `${this.label()}, other parts`;
    return part === '' ? this.label() : `${this.label()}, ${part.slice(0, MOST_NAME)}`;
  }

  /** As in `Until it does: api, login: allow; payments: deny.` */
  private meanwhile(): string {
    if (this.policies.size === 0) return 'Until it does, onStoreError decides.';
    const byPolicy = new Map<OnStoreError, string[]>();
    for (const [limiter, policy] of this.policies) {
      const names = byPolicy.get(policy);
      byPolicy.set(policy, names ? [...names, limiter] : [limiter]);
    }
    const texts = [...byPolicy].map(([policy, names]) => `${listOf(names)}: ${policy}`);
    return `Until it does: ${texts.join('; ')}.`;
  }

  private warn(text: string): void {
    for (const logger of this.loggers) {
      try {
        disregard(logger.warn(`Spillway: ${text}`));
      } catch {
        // A logger that fails must not change what is decided.
      }
    }
  }
}

function listOf(names: readonly string[]): string {
  const more = names.length - MOST_NAMES;
  const first = names.slice(0, MOST_NAMES).join(', ');
  return more > 0 ? `${first} and ${more} more` : first;
}

/** On one line. */
function textOf(error: unknown): string {
  return messageOf(error).replace(/\s+/g, ' ').slice(0, 300);
}
