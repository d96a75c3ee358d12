import { isSpillwayError, type Logger, type Step } from '@spillway/core';
import { warn } from '@spillway/core/direct';
import { countOf, KnownCounts, type Rule, systemClock } from '@spillway/core/store';
import { afterIdly, consoleLogger } from '../host.js';
import {
  ANNOUNCED_EVERY_MS,
  type Announced,
  decodeCodes,
  encodeAnnouncement,
} from './known-limiter.js';
import type { LimiterScripts } from './tagged-scripts.js';

const COUNT_LIST_TIMEOUT_US = 1_000_000;

export class Registry {
  private readonly scripts: LimiterScripts;
  private readonly known = new KnownCounts();
  private readonly announcer: Announcer;

  constructor(scripts: LimiterScripts, logger: Logger | false = consoleLogger()) {
    this.scripts = scripts;
    const announced = () =>
      [...this.known.entries()].map(([name, rules]) => ({ name, rules, isFollowed: false }));
    this.announcer = new Announcer(scripts, announced, (error) => {
      if (logger) warn(logger, lineOf(error));
    });
  }

  register(limiter: string, rule: Rule): void {
    if (this.known.note(limiter, rule)) this.announcer.changed();
  }

  keepUp(): void {
    this.announcer.keepUp();
  }

  /**
   * A reset step resets only the count under its own rule. Returns resets of the same keys under the limiter's other
   * rules, such as those of plans, as far as this process knows them. The result does not contain `steps`.
   */
  ownResets(steps: readonly Step[]): readonly Step[] {
    return steps.filter(resetsKey).flatMap((step) => this.known.otherResets(step));
  }

  /** Returns the resets of counts for which only other processes have rules. Redis has a list of these counts. */
  async notedResets(steps: readonly Step[], deadlineUs: number): Promise<readonly Step[]> {
    const resets = steps.filter(resetsKey);
    const noted = await this.notedCodes(
      [...new Set(resets.map(({ limiter }) => limiter))],
      deadlineUs,
    );
    return resets.flatMap((step) => {
      const own = new Set([step, ...this.known.otherResets(step)].map(countOf));
      // Only the code of another process's rule is known, and a reset needs only the code.
      return (noted.get(step.limiter) ?? []).flatMap((code) =>
        own.has(code) ? [] : [{ ...step, rule: { ...step.rule, code } }],
      );
    });
  }

  private async notedCodes(
    limiters: string[],
    deadlineUs: number,
  ): Promise<ReadonlyMap<string, readonly string[]>> {
    const nowUs = systemClock.nowUs();
    const untilUs = nowUs + Math.min((deadlineUs - nowUs) / 2, COUNT_LIST_TIMEOUT_US);
    try {
      return decodeCodes(await this.scripts.limiters(limiters, untilUs));
    } catch (error) {
      this.announcer.trouble(error);
      return new Map();
    }
  }
}

/** Whether a step resets the counts of its key. A reset with a claim drops only the claim. */
export function resetsKey({ op, claim }: Step): boolean {
  return op === 'reset' && claim === undefined;
}

function lineOf(error: unknown): string {
  const why = error instanceof Error ? error.message : String(error);
  const see = isSpillwayError(error) ? ` See ${error.help}` : '';
  return (
    `Redis could not store or read the list of limiters (${why}). Limits still work, but a reset clears only counts ` +
    `that this process knows, and the command line may not list all limiters.${see}`
  );
}

/** Announcements within this time are sent together. It is also the retry delay while the client is not ready. */
const SOON_US = 1_000_000;

/** The retry delay after a failure, and the minimum time between two reports of failures. */
const RETRY_US = 60_000_000;

type TellTrouble = (error: unknown) => void;

/** Announces limiters in the background, so requests neither wait for announcements nor fail with them. */
export class Announcer {
  private readonly scripts: LimiterScripts;
  private readonly limiters: () => readonly Announced[];
  private readonly tell: TellTrouble;
  private readonly beside: () => Promise<void>;
  private dueUs = Infinity;
  private sentUs = -Infinity;
  private reportedUs = -Infinity;
  /**
   * How often {@link changed} was called. If it is called during an announcement, another announcement is necessary.
   */
  private changes = 0;
  private stopTimer: (() => void) | undefined;
  private closed = false;

  /** @param beside work that is done together with each announcement; must not reject */
  constructor(
    scripts: LimiterScripts,
    limiters: () => readonly Announced[],
    tell: TellTrouble,
    beside: () => Promise<void> = async () => undefined,
  ) {
    this.scripts = scripts;
    this.limiters = limiters;
    this.tell = tell;
    this.beside = beside;
  }

  /**
   * Call this when there is something new to announce. The next request sends it, but at most once a second; without a
   * request, a timer sends it after a second.
   */
  changed(): void {
    this.changes += 1;
    this.dueUs = Math.min(this.dueUs, this.sentUs + SOON_US);
    this.later(SOON_US);
  }

  announceAgain(): void {
    this.dueUs = -Infinity;
    this.keepUp();
  }

  /**
   * Call this whenever the store or the control is used. On hosts whose timers stop between requests, nothing else
   * repeats announcements.
   */
  keepUp(): void {
    if (this.dueUs === Infinity || this.closed) return;
    const nowUs = systemClock.nowUs();
    if (nowUs < this.dueUs) return;
    if (!this.scripts.isReady) {
      this.dueUs = nowUs + SOON_US;
      this.later(SOON_US);
      return;
    }
    this.sentUs = nowUs;
    // Set before the call, because on some hosts the call ends with the request that made it.
    this.dueUs = nowUs + RETRY_US;
    this.later(RETRY_US);
    void this.sendAnnouncement();
  }

  trouble(error: unknown): void {
    const nowUs = systemClock.nowUs();
    if (nowUs - this.reportedUs < RETRY_US) return;
    this.reportedUs = nowUs;
    this.tell(error);
  }

  stopAnnouncing(): void {
    this.closed = true;
    this.stopTimer?.();
  }

  private async sendAnnouncement(): Promise<void> {
    const { changes } = this;
    try {
      const announced = this.scripts.announce(encodeAnnouncement(this.limiters()));
      const [refused] = await Promise.all([announced, this.beside()]);
      if (Number(refused) > 0)
        this.trouble(
          new Error(
            `${refused} limiters could not be stored: the list is full, or of a later release`,
          ),
        );
      if (this.changes !== changes) return;
      this.dueUs = this.sentUs + ANNOUNCED_EVERY_MS * 1000;
      this.later(ANNOUNCED_EVERY_MS * 1000);
    } catch (error) {
      this.trouble(error);
    }
  }

  private later(us: number): void {
    this.stopTimer?.();
    this.stopTimer = undefined;
    if (this.closed) return;
    try {
      this.stopTimer = afterIdly(us / 1000, this.tick);
    } catch {
      // Some hosts have no timers outside of a request. There, only `keepUp` sends announcements.
    }
  }

  private readonly tick = (): void => {
    this.stopTimer = undefined;
    this.dueUs = Math.min(this.dueUs, systemClock.nowUs());
    this.keepUp();
  };
}
