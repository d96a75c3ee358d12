/** The store's list of limiters in Redis, and the counts that a reset finds there. */

import { isSpillwayError, type Logger, type Step } from '@spillway/core';
import { countOf, KnownCounts, type Rule, systemClock } from '@spillway/core/store';
import { consoleLogger } from '../host.js';
import { Announcer } from './announcer.js';
import { decodeCodes } from './known-limiter.js';
import type { LimiterScripts } from './limiter-scripts.js';

/** How long a reset waits at most for the list of counts. It waits at most half the time until its own deadline. */
const LOOK_US = 1_000_000;

export class Registry {
  private readonly scripts: LimiterScripts;
  private readonly known = new KnownCounts();
  private readonly announcer: Announcer;

  constructor(scripts: LimiterScripts, logger: Logger | false = consoleLogger()) {
    this.scripts = scripts;
    const announced = () =>
      [...this.known.entries()].map(([name, rules]) => ({ name, rules, isFollowed: false }));
    this.announcer = new Announcer(scripts, announced, (error) => {
      if (logger) logger.warn(lineOf(error));
    });
  }

  register(limiter: string, rule: Rule): void {
    if (this.known.note(limiter, rule)) this.announcer.changed();
  }

  /** See {@link Announcer.keepUp}. */
  keepUp(): void {
    this.announcer.keepUp();
  }

  /** Additional resets for the `steps` that are resets: of the other counts that this process knows. */
  ownResets(steps: readonly Step[]): readonly Step[] {
    return steps.filter(resetsKey).flatMap((step) => this.known.otherResets(step));
  }

  /** Additional resets of counts that only other processes know, which are listed in Redis. */
  async notedResets(steps: readonly Step[], deadlineUs: number): Promise<readonly Step[]> {
    const resets = steps.filter(resetsKey);
    const noted = await this.notedCodes(
      [...new Set(resets.map(({ limiter }) => limiter))],
      deadlineUs,
    );
    return resets.flatMap((step) => {
      const own = new Set([step, ...this.known.otherResets(step)].map(countOf));
      // Only the code of another process's rule is known. A reset needs no more.
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
    const untilUs = nowUs + Math.min((deadlineUs - nowUs) / 2, LOOK_US);
    try {
      return decodeCodes(await this.scripts.limiters(limiters, untilUs));
    } catch (error) {
      this.announcer.trouble(error);
      return new Map();
    }
  }
}

/** Whether a step resets all counts of a key, unlike one that drops a claim. */
export function resetsKey({ op, claim }: Step): boolean {
  return op === 'reset' && claim === undefined;
}

function lineOf(error: unknown): string {
  const why = error instanceof Error ? error.message : String(error);
  const see = isSpillwayError(error) ? ` See ${error.help}` : '';
  return (
    `Spillway: Redis could not store or read the list of limiters (${why}). Limits still work, but a reset clears ` +
    `only counts that this process knows, and the command line may not list all limiters.${see}`
  );
}
