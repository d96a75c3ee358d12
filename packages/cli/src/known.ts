/** The limiters that processes have announced: what is meant for another is most likely misspelt. */

import { isSpillwayError } from '@spillway/core';
import type { KnownLimiter, RedisControl } from '@spillway/redis';
import { nearestFirst } from './nearest.js';
import { plain } from './plain.js';
import { UsageError } from './usage-error.js';

/** Every limiter. */
export const EVERY = '*';

/** How many names a message has. */
const SHOWN = 10;

export interface AnywayOption {
  readonly anyway?: true;
}

/** The limiter of a command is none that a process has announced. */
export class UnknownLimiterError extends UsageError {
  /** Those that were announced, the nearest first. */
  readonly known: readonly string[];

  constructor(limiter: string, known: readonly string[]) {
    super(`${unknownLine(limiter, known)} Add --anyway if it is meant.`);
    this.known = known;
  }
}

/**
 * The announced limiters that `limiter` names, with `--anyway` perhaps none; undefined if they cannot be told.
 *
 * @throws UnknownLimiterError
 */
export async function limitersNamed(
  control: RedisControl,
  limiter: string,
  { anyway }: AnywayOption,
): Promise<readonly KnownLimiter[] | undefined> {
  const known = await announced(control);
  if (known === undefined || limiter === EVERY) return known;
  const named = known.filter(({ name }) => name === limiter);
  if (named.length === 0 && !anyway)
    throw new UnknownLimiterError(limiter, namesNear(limiter, known));
  return named;
}

/** All that were announced; undefined, and a line, if Redis answers but does not keep the list. */
export async function announced(
  control: RedisControl,
): Promise<readonly KnownLimiter[] | undefined> {
  try {
    return await control.limiters();
  } catch (error) {
    // A list that cannot be read must not stand in the way of the kill switch.
    if (!isSpillwayError(error) || error.code !== 'SPW_STORE_ERROR') throw error;
    process.stderr.write(`warning: names are not checked: ${error.message}\n`);
    return undefined;
  }
}

export function namesNear(limiter: string, known: readonly KnownLimiter[]): string[] {
  return nearestFirst(
    limiter,
    known.map(({ name }) => name),
  );
}

export function unknownLine(limiter: string, known: readonly string[]): string {
  const nobody = `No process has announced a limiter ${plain(JSON.stringify(limiter))}.`;
  if (known.length === 0) return `${nobody} None is announced at all.`;
  const more = known.length > SHOWN ? `, and ${known.length - SHOWN} more (see status)` : '';
  return `${nobody} Announced are: ${plain(known.slice(0, SHOWN).join(', '))}${more}.`;
}
