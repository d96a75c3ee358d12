import type { Override } from '@spillway/core';
import type { DeclaredNumbers } from '@spillway/core/store';
import type { Follower, KnownLimiter } from '@spillway/redis';
import {
  type EffectiveSettings,
  effectiveSettings,
  type Followed,
  followedBy,
  isShaper,
} from './in-force.js';
import { plain } from './plain.js';
import { table } from './table.js';

const UNITS = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'm'],
  [1_000, 's'],
] as const;

export function limitersTable(
  limiters: readonly KnownLimiter[],
  overrides: readonly Override[],
  followers: readonly Follower[] | undefined,
): string {
  const rows = limiters.map((limiter) => {
    const own = effectiveSettings(limiter, overrides);
    return [
      plain(limiter.name),
      isShaper(limiter) ? 'has none' : modeText(own),
      numbersText(limiter, own),
      own.overriddenKeyCount === 0 ? '' : `${own.overriddenKeyCount}`,
      followers ? followedText(followedBy(limiter.name, followers), limiter.isFollowed) : '?',
    ];
  });
  return table(['LIMITER', 'MODE', 'IN FORCE', 'KEYS', 'PROCESSES'], rows);
}

function modeText({ mode, share }: EffectiveSettings): string {
  const parts = [
    mode ? `${mode.value}${from(mode)}` : 'as declared',
    ...(share ? [`for ${Number((share.value * 100).toPrecision(6))}% of keys${from(share)}`] : []),
  ];
  return parts.join(', ');
}

function from({ limiter }: Override): string {
  return limiter === '*' ? ' (by *)' : '';
}

function numbersText({ declared }: KnownLimiter, { numbers, limits }: EffectiveSettings): string {
  const texts = numbers.map((own, at) => {
    const before = declared[at] as DeclaredNumbers;
    const isChanged = limits && numbersOf(own) !== numbersOf(before);
    return `${numbersOf(own)}${isChanged ? `, declared ${rateOf(before)}${from(limits)}` : ''}`;
  });
  return texts.join('; or ') || 'no count';
}

function followedText({ following, of }: Followed, isAnnounced: boolean): string {
  if (of > 0) return `${following} of ${of} follow`;
  return isAnnounced ? 'none runs' : 'no control';
}

export function numbersOf(numbers: DeclaredNumbers): string {
  const { algorithm, open, leaseMs, keepMs, maxWaitMs } = numbers;
  const lock = lockIn(numbers);
  const parts = [
    rateOf(numbers),
    ...(lock ? [`locked for ${lock.locksMs.map(durationOf).join(', then ')}`] : []),
    ...(open === undefined ? [] : [`${open} for requests that are not critical`]),
    ...(leaseMs === undefined ? [] : [`lease ${durationOf(leaseMs)}`]),
    ...(keepMs === undefined ? [] : [`kept for ${durationOf(keepMs)}`]),
    ...(maxWaitMs === undefined ? [] : [`waits up to ${durationOf(maxWaitMs)}`]),
  ];
  return plain(`${parts.join(', ')} (${algorithm.replace(/^(calendar|lock):.*/, '$1')})`);
}

/** The penalty of a limit; undefined if the limit has no penalty, or one that only a later release knows. */
export function lockIn({
  algorithm,
}: Pick<DeclaredNumbers, 'algorithm'>):
  | { readonly locksMs: readonly number[]; readonly forgetMs: number }
  | undefined {
  const match = /^lock:([\d.]+(?:,[\d.]+)*):([\d.]+)$/.exec(algorithm);
  if (!match) return undefined;
  const [, locks = '', forget = ''] = match;
  return { locksMs: locks.split(',').map(Number), forgetMs: Number(forget) };
}

export function rateOf({ algorithm, limit, windowMs, burst }: DeclaredNumbers): string {
  const [, calendar] = algorithm.split('calendar:');
  if (calendar) return `${limit} per ${calendar}`;
  const rate = windowMs === undefined ? `${limit} at once` : `${limit} per ${durationOf(windowMs)}`;
  return burst === undefined ? rate : `${rate}, burst ${burst}`;
}

export function durationOf(ms: number): string {
  const unit = UNITS.find(([length]) => ms >= length && ms % length === 0);
  return unit ? `${ms / unit[0]}${unit[1]}` : `${ms}ms`;
}
