/**
 * Tells loggers of outages: one line when a part of a store fails, one when it is back, and one a minute while it comes
 * and goes. If many parts fail, all but the first few share their lines.
 */

import type { Clock } from '../base/clock.js';
import { isSpillwayError, messageOf, seeHelp } from '../base/errors.js';
import { afterIdly, type Logger } from '../base/host.js';
import { warn } from '../base/log.js';
import type { OnStoreError } from '../contract/decision.js';

/** Each outage of a part that begins within this time of a line about it is only counted. */
const QUIET_US = 60_000_000;

/** More names of limiters would only make a line long. */
const MOST_NAMES = 8;

/** So many parts have lines of their own: more than most clusters have nodes. */
const MOST_TOLD = 16;

/** The name of all others together. */
export const OTHER_PARTS = 'other parts';

/** What was told of one part of the store, or of {@link OTHER_PARTS}, and when. */
interface Told {
  readonly toldUs: number;
  /** Whether the outage now was told, so that its end will be. */
  isTold: boolean;
  /** Parts that are not asked now: one at most, unless it stands for several. */
  open: number;
  /** Outages since then that were not. */
  more: number;
  lastError: unknown;
  /** Whether the last one was no outage, only slow. */
  isSlow: boolean;
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

  /** Adds a logger. Each gets a line once, even if several guards have it. */
  addLogger(logger: Logger): void {
    this.loggers.add(logger);
  }

  /** Notes what a limiter does while the store does not decide. */
  notePolicy(limiter: string, policy: OnStoreError): void {
    this.policies.set(limiter, policy);
  }

  /** @param isSlow whether the part only takes too long */
  opened(part: string, error: unknown, isSlow: boolean): void {
    const { parts } = this;
    const name = parts.has(part) || parts.size < MOST_TOLD ? part : OTHER_PARTS;
    const told = parts.get(name);
    if (told) {
      told.open += 1;
      told.isSlow = isSlow;
      told.lastError = error;
      if (this.clock.nowUs() - told.toldUs < QUIET_US) {
        told.isTold = false;
        told.more += 1;
        return;
      }
      if (told.more > 0) this.sumUp(name, told);
    }
    this.renew(name, { lastError: error, isSlow, open: told?.open ?? 1 });
    this.warn(
      `${this.nameOf(name)} ${isSlow ? 'is slow' : 'does not decide'} (${textOf(error)}). ` +
        `${this.meanwhile(isSlow)}${seeHelp(error)}`,
    );
  }

  /** @param openMs left out if it is not known to be back */
  closed(part: string, openMs: number | undefined): void {
    const { parts } = this;
    const name = parts.has(part) ? part : OTHER_PARTS;
    const told = parts.get(name);
    if (!told) return;
    told.open -= 1;
    if (told.open > 0) return;
    if (this.clock.nowUs() - told.toldUs >= QUIET_US) parts.delete(name);
    if (told.isTold && openMs !== undefined) {
      this.warn(`${this.nameOf(name)} decides again, after ${(openMs / 1000).toFixed(1)} s.`);
    }
  }

  /** The store was asked again, in vain. What more is known of it is told once in an outage. */
  stillDown(part: string, error: unknown): void {
    const told = this.parts.get(part);
    if (!told || told.hint || !isSpillwayError(error)) return;
    if (error.kind !== 'hung' && error.kind !== 'slow') return;
    told.hint = true;
    this.warn(`${this.nameOf(part)}: ${textOf(error)}.${seeHelp(error)}`);
  }

  /** A line is written now. Looks again when the quiet time is over. */
  private renew(name: string, now: Pick<Told, 'lastError' | 'isSlow' | 'open'>): void {
    const { lastError, isSlow, open } = now;
    const isTold = open > 0;
    const toldUs = this.clock.nowUs();
    this.parts.set(name, { toldUs, isTold, open, more: 0, lastError, isSlow, hint: false });
    afterIdly(QUIET_US / 1000, () => {
      const told = this.parts.get(name);
      if (!told) return;
      if (told.more > 0) this.sumUp(name, told);
      else if (told.open === 0) this.parts.delete(name);
    });
  }

  private sumUp(name: string, told: Told): void {
    const { more, isSlow, open, lastError } = told;
    const times = more === 1 ? 'once more' : `${more} times more`;
    const [was, is, isNot] = isSlow
      ? ['was slow', 'it is now', 'it is not now']
      : ['did not decide', 'it does not now', 'it does now'];
    const now = open > 0 ? `${is}. ${this.meanwhile(isSlow)}` : `${isNot}.`;
    this.renew(name, told);
    this.warn(
      `${this.nameOf(name)} ${was} ${times} in the last minute (${textOf(lastError)}); ${now}${seeHelp(lastError)}`,
    );
  }

  private nameOf(part: string): string {
    return part === '' ? this.label() : `${this.label()}, ${part}`;
  }

  /**
   * As in `Until it does: api, login: local; payments: deny.` A store that is only slow is still asked where this
   * process could not count in its place.
   */
  private meanwhile(isSlow: boolean): string {
    const until = isSlow ? 'Until it is not' : 'Until it does';
    if (this.policies.size === 0) return `${until}, onStoreError decides.`;
    const byPolicy = new Map<string, string[]>();
    for (const [limiter, policy] of this.policies) {
      const does = isSlow && policy !== 'local' ? 'asked all the same' : policy;
      const names = byPolicy.get(does);
      byPolicy.set(does, names ? [...names, limiter] : [limiter]);
    }
    const texts = [...byPolicy].map(([does, names]) => `${listOf(names)}: ${does}`);
    return `${until}: ${texts.join('; ')}.`;
  }

  private warn(text: string): void {
    for (const logger of this.loggers) warn(logger, text);
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
