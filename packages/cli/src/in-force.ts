/**
 * Finds the settings in force. A limiter's own override comes first, then the override of `*`, then the declaration.
 */

import { distinct, type LiveLimits, type Override } from '@spillway/core';
import { liveNumbers } from '@spillway/core/control';
import { type DeclaredNumbers, toMicroseconds } from '@spillway/core/store';
import type { Follower, KnownLimiter } from '@spillway/redis';
import { EVERY } from './known.js';

type Applied<What extends Override['what']> = Extract<Override, { what: What }> | null;

export interface EffectiveSettings {
  readonly mode: Applied<'mode'>;
  readonly share: Applied<'share'>;
  readonly limits: Applied<'limits'>;
  /**
   * The declared numbers with live limits applied. There is one element for each set of numbers that a running release
   * declares.
   */
  readonly numbers: readonly DeclaredNumbers[];
  readonly overriddenKeyCount: number;
}

export function effectiveSettings(
  limiter: KnownLimiter,
  overrides: readonly Override[],
): EffectiveSettings {
  const applied = <What extends Override['what']>(what: What): Applied<What> =>
    (findOverride(overrides, limiter.name, what) ??
      findOverride(overrides, EVERY, what)) as Applied<What>;
  const limits = applied('limits');
  const hasNoMode = isShaper(limiter);
  const keys = overrides.filter((one) => 'key' in one && one.limiter === limiter.name);
  return {
    mode: hasNoMode ? null : applied('mode'),
    share: hasNoMode || limiter.declared.length === 0 ? null : applied('share'),
    limits,
    numbers: limiter.declared.map((numbers) => liveOf(numbers, limits?.value)),
    overriddenKeyCount: new Set(keys.map((one) => 'key' in one && one.key)).size,
  };
}

/**
 * Whether the limiter is a shaper. Shapers have no mode and no share, because either could let calls exceed the pace
 * that another service allows.
 */
export function isShaper({ declared }: KnownLimiter): boolean {
  return declared.some(({ algorithm }) => algorithm === 'shaper');
}

export function sparedBy(what: Override['what'], overrides: readonly Override[]): Override[] {
  return overrides.filter((one) => one.what === what && one.limiter !== EVERY);
}

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

export function lackedBy(
  { algorithm, windowMs }: DeclaredNumbers,
  live: LiveLimits,
): 'numbers' | 'burst' | 'window' | undefined {
  if (algorithm === 'claims') return 'numbers';
  const hasBurst = algorithm === 'token-bucket' || algorithm === 'shaper';
  if (live.burst !== undefined && !hasBurst) return 'burst';
  return live.window !== undefined && windowMs === undefined ? 'window' : undefined;
}

export function highestLimit({ algorithm }: DeclaredNumbers): number | undefined {
  return algorithm === 'distinct' ? distinct().maxLimit : undefined;
}

/**
 * Whether a live limit is above the highest that the algorithm allows. A `factor` needs no check, because the limiter
 * caps the multiplied limit.
 */
export function exceedsHighest(numbers: DeclaredNumbers, { limit = 0 }: LiveLimits): boolean {
  return limit > (highestLimit(numbers) ?? limit);
}

export function liveOf(numbers: DeclaredNumbers, live: LiveLimits | undefined): DeclaredNumbers {
  if (!live || lackedBy(numbers, live) || exceedsHighest(numbers, live)) return numbers;
  const { algorithm, windowMs } = numbers;
  const isBucket = algorithm === 'token-bucket';
  const keepsBurst = algorithm === 'shaper';
  const { burst: ownBurst, open: _, ...rest } = numbers;
  const burst = isBucket ? ownBurst : undefined;
  const declared = { limit: numbers.limit, window: windowMs, burst };
  const set = liveNumbers({ ...declared, algorithm: { maxLimit: highestLimit(numbers) } }, live);
  const shownBurst = keepsBurst ? ownBurst : set.burst;
  return {
    ...rest,
    limit: set.limit,
    ...(set.window !== undefined && { windowMs: toMicroseconds(set.window) / 1000 }),
    ...(shownBurst !== undefined && { burst: shownBurst }),
  };
}
