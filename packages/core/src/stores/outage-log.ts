/**
 * Logs outages: one line when a part of a store fails, one when it is back, and one per minute while it keeps failing
 * and recovering. If many parts fail, only the first few have separate lines.
 */

import type { Clock } from '../base/clock.js';
import { isSpillwayError, messageOf, seeHelp } from '../base/errors.js';
import { getOrMake } from '../base/get-or-make.js';
import { afterIdly, type Logger } from '../base/host.js';
import { warn } from '../base/log.js';
import type { OnStoreError } from '../contract/decision.js';

/** Outages that begin within this time after a line about the same part are only counted. */
const QUIET_US = 60_000_000;

const MOST_NAMES = 8;

/** Maximum number of parts that have separate lines: more than most clusters have nodes. */
const MAX_PARTS = 16;

export const OTHER_PARTS = 'other parts';

interface ReportedOutage {
  readonly reportedUs: number;
  isLogged: boolean;
  /** Number of open breakers: 0 or 1 for a part; {@link OTHER_PARTS} stands for several parts. */
  open: number;
  more: number;
  lastError: unknown;
  isSlow: boolean;
  hint: boolean;
}

export class OutageLog {
  readonly loggers: Set<Logger> = new Set();
  /** What each limiter does meanwhile. */
  readonly policies: Map<string, OnStoreError> = new Map();
  private readonly parts = new Map<string, ReportedOutage>();
  private readonly label: () => string;
  private readonly clock: Clock;

  constructor(label: () => string, clock: Clock) {
    this.label = label;
    this.clock = clock;
  }

  opened(part: string, error: unknown, isSlow: boolean): void {
    const { parts } = this;
    const name = parts.has(part) || parts.size < MAX_PARTS ? part : OTHER_PARTS;
    const outage = parts.get(name);
    if (outage) {
      outage.open += 1;
      outage.isSlow = isSlow;
      outage.lastError = error;
      if (this.clock.nowUs() - outage.reportedUs < QUIET_US) {
        outage.isLogged = false;
        outage.more += 1;
        return;
      }
      if (outage.more > 0) this.sumUp(name, outage);
    }
    this.renew(name, { lastError: error, isSlow, open: outage?.open ?? 1 });
    this.warn(
      `${this.partLabel(name)} is ${isSlow ? 'slow' : 'failing'} (${textOf(error)}). ` +
        `${this.meanwhile(isSlow)}${seeHelp(error)}`,
    );
  }

  /** @param openMs how long the outage lasted; undefined if the part was dropped before it was known to work again */
  closed(part: string, openMs: number | undefined): void {
    const { parts } = this;
    const name = parts.has(part) ? part : OTHER_PARTS;
    const outage = parts.get(name);
    if (!outage) return;
    outage.open -= 1;
    if (outage.open > 0) return;
    if (this.clock.nowUs() - outage.reportedUs >= QUIET_US) parts.delete(name);
    if (outage.isLogged && openMs !== undefined) {
      this.warn(`${this.partLabel(name)} works again, after ${(openMs / 1000).toFixed(1)} s.`);
    }
  }

  /** Logs, once per outage, that a probe failed because the store hangs or is slow. */
  stillDown(part: string, error: unknown): void {
    const outage = this.parts.get(part);
    if (!outage || outage.hint || !isSpillwayError(error)) return;
    if (error.kind !== 'hung' && error.kind !== 'slow') return;
    outage.hint = true;
    outage.isLogged = true;
    this.warn(`${this.partLabel(part)}: ${textOf(error)}.${seeHelp(error)}`);
  }

  private renew(name: string, now: Pick<ReportedOutage, 'lastError' | 'isSlow' | 'open'>): void {
    const { lastError, isSlow, open } = now;
    const isLogged = open > 0;
    const reportedUs = this.clock.nowUs();
    this.parts.set(name, { reportedUs, isLogged, open, more: 0, lastError, isSlow, hint: false });
    afterIdly(QUIET_US / 1000, () => {
      const outage = this.parts.get(name);
      if (!outage) return;
      if (outage.more > 0) this.sumUp(name, outage);
      else if (outage.open === 0) this.parts.delete(name);
    });
  }

  private sumUp(name: string, outage: ReportedOutage): void {
    const { more, isSlow, open, lastError } = outage;
    const times = more === 1 ? 'once more' : `${more} more times`;
    const [was, is, isNot] = isSlow
      ? ['was slow', 'it is slow now', 'it is not slow now']
      : ['failed', 'it is failing now', 'it works now'];
    const now = open > 0 ? `${is}. ${this.meanwhile(isSlow)}` : `${isNot}.`;
    this.renew(name, outage);
    this.warn(
      `${this.partLabel(name)} ${was} ${times} in the last minute (${textOf(lastError)}); ${now}${seeHelp(lastError)}`,
    );
  }

  private partLabel(part: string): string {
    return part === '' ? this.label() : `${this.label()}, ${part}`;
  }

  /** Such as `Meanwhile: api, login: local; payments: deny.` For `allow` and `deny`, a slow store is still called. */
  private meanwhile(isSlow: boolean): string {
    if (this.policies.size === 0) return 'Meanwhile, onStoreError decides.';
    const byPolicy = new Map<string, string[]>();
    for (const [limiter, policy] of this.policies) {
      const does = isSlow && policy !== 'local' ? 'still called' : policy;
      getOrMake(byPolicy, does, () => []).push(limiter);
    }
    const texts = [...byPolicy].map(([does, names]) => `${listOf(names)}: ${does}`);
    return `Meanwhile: ${texts.join('; ')}.`;
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

function textOf(error: unknown): string {
  return messageOf(error).replace(/\s+/g, ' ').slice(0, 300);
}
