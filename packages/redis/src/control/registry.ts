/** What a store notes about its limiters in Redis, and what a reset finds there. */

import { isSpillwayError, type Logger, type Step } from '@spillway/core';
import { countOf, KnownCounts, type Rule, systemClock } from '@spillway/core/store';
import { consoleLogger } from '../host.js';
import { Announcer } from './announcer.js';
import { decodeCodes } from './known-limiter.js';
import type { LimiterScripts } from './limiter-scripts.js';

/** The longest time that a reset waits for what others have noted. It waits at most half of its own deadline. */
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

  /** The further steps of the resets among `steps`: for the other counts that this process knows of. */
  ownResets(steps: readonly Step[]): readonly Step[] {
    return steps.filter(resetsKey).flatMap((step) => this.known.otherResets(step));
  }

  /** Those for the counts that only other processes know of, which are noted in Redis. */
  async notedResets(steps: readonly Step[], deadlineUs: number): Promise<readonly Step[]> {
    const resets = steps.filter(resetsKey);
    const noted = await this.notedCodes(
      [...new Set(resets.map(({ limiter }) => limiter))],
      deadlineUs,
    );
    return resets.flatMap((step) => {
      const own = new Set([step, ...this.known.otherResets(step)].map(countOf));
      // Of another process's rule only the code is known. A reset needs no more.
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

/** Whether a step resets all that is counted of a key. One that drops a claim does not. */
export function resetsKey({ op, claim }: Step): boolean {
  return op === 'reset' && claim === undefined;
}

function lineOf(error: unknown): string {
  const why = error instanceof Error ? error.message : String(error);
  const see = isSpillwayError(error) ? ` See ${error.help}` : '';
  return (
    `Spillway: Redis does not keep the list of limiters (${why}). Limits hold; a reset forgets only what this process ` +
    `counts under, and the command line may not know all names.${see}`
  );
}
