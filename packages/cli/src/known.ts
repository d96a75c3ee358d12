/** The limiters that processes have announced. Another name is probably misspelt. */

import { setTimeout as delay } from 'node:timers/promises';
import { isSpillwayError } from '@spillway/core';
import type { KnownLimiter, RedisControl } from '@spillway/redis';
import { nearestFirst } from './nearest.js';
import { plain } from './plain.js';
import { UsageError } from './usage-error.js';

/** Every limiter. */
export const EVERY = '*';

/** How long nobody must have announced anything until that is believed. */
const LOOKS = 6;
const LOOK_EVERY_MS = 250;

/** How many names a message lists. */
const SHOWN = 10;

export interface AnywayOption {
  readonly anyway?: true;
}

/** The command names a limiter that no process has announced. */
export class UnknownLimiterError extends UsageError {
  /** The announced limiters, the most similar name first. */
  readonly known: readonly string[];

  constructor(limiter: string, known: readonly string[]) {
    super(`${unknownLine(limiter, known)} Add --anyway if it is meant.`);
    this.known = known;
  }
}

/**
 * The announced limiters that `limiter` names. With `--anyway` there may be none; undefined if the list cannot be read.
 *
 * @throws UnknownLimiterError
 */
export async function limitersNamed(
  control: RedisControl,
  limiter: string,
  { anyway }: AnywayOption,
): Promise<readonly KnownLimiter[] | undefined> {
  let known = await announced(control);
  // Redis may have lost the names a moment ago: processes announce themselves again within a second.
  for (let looks = 0; known?.length === 0 && looks < LOOKS && !anyway; looks += 1) {
    await delay(LOOK_EVERY_MS);
    known = await announced(control);
  }
  if (known === undefined || limiter === EVERY) return known;
  const named = known.filter(({ name }) => name === limiter);
  if (named.length === 0 && !anyway)
    throw new UnknownLimiterError(limiter, namesNear(limiter, known));
  return named;
}

/** All announced limiters. If Redis answers but does not keep the list, prints a line and returns undefined. */
export async function announced(
  control: RedisControl,
): Promise<readonly KnownLimiter[] | undefined> {
  try {
    return await control.limiters();
  } catch (error) {
    // If the list cannot be read, commands must still work, above all the one that turns a limiter off.
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
