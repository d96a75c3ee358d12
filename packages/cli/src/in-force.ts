/** What counts for a limiter now: what is set for it, else what is set for every limiter, else what the code says. */

import type { LiveLimits, Override } from '@spillway/core';
import { liveNumbers } from '@spillway/core/control';
import { type DeclaredNumbers, toMicroseconds } from '@spillway/core/store';
import type { Follower, KnownLimiter } from '@spillway/redis';
import { EVERY } from './known.js';

/** The override that counts for a limiter; null where the code does. */
type Counting<What extends Override['what']> = Extract<Override, { what: What }> | null;

export interface InForce {
  readonly mode: Counting<'mode'>;
  readonly share: Counting<'share'>;
  readonly limits: Counting<'limits'>;
  /** The declared numbers, with `limits`; one entry for each set that is declared. */
  readonly numbers: readonly DeclaredNumbers[];
  /** Keys that are blocked or allowed, or have limits of their own. */
  readonly keys: number;
}

export function inForce(limiter: KnownLimiter, overrides: readonly Override[]): InForce {
  const counting = <What extends Override['what']>(what: What): Counting<What> =>
    (findOverride(overrides, limiter.name, what) ??
      findOverride(overrides, EVERY, what)) as Counting<What>;
  const limits = counting('limits');
  const hasNoMode = isShaper(limiter);
  const keys = overrides.filter((one) => 'key' in one && one.limiter === limiter.name);
  return {
    mode: hasNoMode ? null : counting('mode'),
    share: hasNoMode || limiter.declared.length === 0 ? null : counting('share'),
    limits,
    numbers: limiter.declared.map((numbers) => liveOf(numbers, limits?.value)),
    keys: new Set(keys.map((one) => 'key' in one && one.key)).size,
  };
}

/** A shaper follows no modes and shares: a pace protects the other side. */
export function isShaper({ declared }: KnownLimiter): boolean {
  return declared.some(({ algorithm }) => algorithm === 'shaper');
}

/** The limiters that have one of these settings of their own, which counts there in place of that of `*`. */
export function sparedBy(what: Override['what'], overrides: readonly Override[]): Override[] {
  return overrides.filter((one) => one.what === what && one.limiter !== EVERY);
}

/** How many processes there are with the limiter, and how many of them follow all that is set. */
export interface Followed {
  readonly following: number;
  readonly of: number;
}

export function followedBy(limiter: string, followers: readonly Follower[]): Followed {
  const own = followers.filter(({ limiters }) => limiter === EVERY || limiters.includes(limiter));
  return { following: own.filter(({ isCurrent }) => isCurrent).length, of: own.length };
}

function findOverride(overrides: readonly Override[], limiter: string, what: Override['what']) {
  return overrides.find((one) => one.what === what && one.limiter === limiter) ?? null;
}

/** What live limits name that a limiter with these numbers has not; undefined if it can follow them. */
export function lackedBy(
  { algorithm, windowMs }: DeclaredNumbers,
  live: LiveLimits,
): 'numbers' | 'burst' | 'window' | undefined {
  if (algorithm === 'claims') return 'numbers';
  const hasBurst = algorithm === 'token-bucket' || algorithm === 'shaper';
  if (live.burst !== undefined && !hasBurst) return 'burst';
  return live.window !== undefined && windowMs === undefined ? 'window' : undefined;
}

/** As the limiter calculates them. Where the two are no rule, it stays as declared. */
export function liveOf(numbers: DeclaredNumbers, live: LiveLimits | undefined): DeclaredNumbers {
  if (!live || lackedBy(numbers, live)) return numbers;
  const { algorithm, windowMs } = numbers;
  const isBucket = algorithm === 'token-bucket';
  const keepsBurst = algorithm === 'shaper';
  const { burst: ownBurst, open: _, ...rest } = numbers;
  const burst = isBucket ? ownBurst : undefined;
  const set = liveNumbers({ limit: numbers.limit, window: windowMs, burst }, live);
  const shownBurst = keepsBurst ? ownBurst : set.burst;
  return {
    ...rest,
    limit: set.limit,
    ...(set.window !== undefined && { windowMs: toMicroseconds(set.window) / 1000 }),
    ...(shownBurst !== undefined && { burst: shownBurst }),
  };
}
