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

/** What was told of one part of the store, and when. */
interface Told {
  toldUs: number;
  /** Whether the outage now was told, so that its end will be. */
  isTold: boolean;
  isOpen: boolean;
  /** Outages since then that were not. */
  more: number;
  lastError: unknown;
  hint: boolean;
}

export class OutageLog {
  private readonly loggers = new Set<Logger>();
  private readonly policies = new Map<string, OnStoreError>();
  private readonly parts = new Map<string, Told>();
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

  opened(part: string, error: unknown): void {
    const nowUs = this.clock.nowUs();
    const told = this.parts.get(part);
    if (told && nowUs - told.toldUs < QUIET_US) {
      told.isOpen = true;
      told.isTold = false;
      told.more += 1;
      told.lastError = error;
      return;
    }
    if (told && told.more > 0) this.sumUp(part, told);
    this.parts.set(part, this.fresh(error));
    this.wake(part);
    this.warn(
      `${this.nameOf(part)} does not decide (${textOf(error)}). ${this.meanwhile()}${seeHelp(error)}`,
    );
  }

  closed(part: string, openMs: number): void {
    const told = this.parts.get(part);
    if (!told) return;
    told.isOpen = false;
    if (this.clock.nowUs() - told.toldUs >= QUIET_US) this.parts.delete(part);
    if (told.isTold) {
      this.warn(`${this.nameOf(part)} decides again, after ${(openMs / 1000).toFixed(1)} s.`);
    }
  }

  /** The store was asked again, in vain. What its user can do about it is told once in an outage. */
  stillDown(part: string, error: unknown): void {
    const told = this.parts.get(part);
    if (!told || told.hint || !isSpillwayError(error) || error.kind !== 'hung') return;
    told.hint = true;
    this.warn(`${this.nameOf(part)}: ${textOf(error)}.${seeHelp(error)}`);
  }

  private fresh(lastError: unknown): Told {
    const toldUs = this.clock.nowUs();
    return { toldUs, isTold: true, isOpen: true, more: 0, lastError, hint: false };
  }

  /** Looks again when the quiet time is over. */
  private wake(part: string): void {
    afterIdly(QUIET_US / 1000, () => {
      const told = this.parts.get(part);
      if (!told) return;
      if (told.more > 0) this.sumUp(part, told);
      else if (!told.isOpen) this.parts.delete(part);
    });
  }

  private sumUp(part: string, told: Told): void {
    const times = told.more === 1 ? 'once more' : `${told.more} times more`;
    const now = told.isOpen ? `it does not now. ${this.meanwhile()}` : 'it does now.';
    const { lastError } = told;
    const next = { ...this.fresh(lastError), isOpen: told.isOpen, isTold: told.isOpen };
    this.parts.set(part, next);
    this.wake(part);
    this.warn(
      `${this.nameOf(part)} did not decide ${times} in the last minute (${textOf(lastError)}); ${now}${seeHelp(lastError)}`,
    );
  }

  private nameOf(part: string): string {
    return part === '' ? this.label() : `${this.label()}, ${part}`;
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
