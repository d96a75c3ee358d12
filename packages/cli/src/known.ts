import { setTimeout as delay } from 'node:timers/promises';
import { isSpillwayError } from '@spillway/core';
import type { KnownLimiter, RedisControl } from '@spillway/redis';
import { nearestFirst } from './nearest.js';
import { plain } from './plain.js';
import { UsageError } from './usage-error.js';

export const EVERY = '*';

const SHOWN = 10;

/** How long to wait for the announcement of a limiter. After a data loss, processes announce again within a second. */
const ANNOUNCED_AGAIN_MS = 1_500;
const LOOK_EVERY_MS = 100;

export interface AnywayOption {
  readonly anyway?: true;
}

export class UnknownLimiterError extends UsageError {
  /** The announced names, the most similar first. */
  readonly known: readonly string[];

  constructor(limiter: string, known: readonly string[], advice = '') {
    super(unknownLine(limiter, known) + advice);
    this.known = known;
  }
}

/**
 * The announced limiters with this name, or all for `*`. Undefined if the list of limiters can't be read, or may be
 * incomplete because Redis has lost its data.
 *
 * @param options undefined for commands without the option `--anyway`, which need the list: they fail without it
 * @throws UnknownLimiterError if no process has announced the name, unless `anyway` is set
 */
export function limitersNamed(
  control: RedisControl,
  limiter: string,
  options: undefined,
): Promise<readonly KnownLimiter[]>;
export function limitersNamed(
  control: RedisControl,
  limiter: string,
  options: AnywayOption,
): Promise<readonly KnownLimiter[] | undefined>;
export async function limitersNamed(
  control: RedisControl,
  limiter: string,
  options: AnywayOption | undefined,
): Promise<readonly KnownLimiter[] | undefined> {
  const endMs = performance.now() + ANNOUNCED_AGAIN_MS;
  for (;;) {
    const known = options ? await announced(control) : await control.limiters();
    if (known === undefined || limiter === EVERY) return known;
    const named = known.filter(({ name }) => name === limiter);
    if (named.length > 0 || options?.anyway) return named;
    if (options && (await hasLostSettings(control))) {
      process.stderr.write('warning: names are not checked: the store has lost its data\n');
      return undefined;
    }
    if (performance.now() >= endMs) {
      const advice = options ? ' If the name is right, add --anyway.' : '';
      throw new UnknownLimiterError(limiter, namesNear(limiter, known), advice);
    }
    await delay(LOOK_EVERY_MS);
  }
}

async function hasLostSettings(control: RedisControl): Promise<boolean> {
  await control.refresh();
  return control.settingsLost;
}

export async function announced(
  control: RedisControl,
): Promise<readonly KnownLimiter[] | undefined> {
  try {
    return await control.limiters();
  } catch (error) {
    // Changes must work even if the list cannot be read, above all the command that turns a limiter off.
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
  if (known.length === 0) return `${nobody} No limiter is announced at all.`;
  const more = known.length > SHOWN ? `, and ${known.length - SHOWN} more (see status)` : '';
  return `${nobody} Announced: ${plain(known.slice(0, SHOWN).join(', '))}${more}.`;
}
