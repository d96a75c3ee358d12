/** The table of announced limiters, for people. */

import type { DeclaredNumbers } from '@spillway/core/store';
import type { KnownLimiter } from '@spillway/redis';
import { table } from './output.js';
import { plain } from './plain.js';

const UNITS = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'm'],
  [1_000, 's'],
] as const;

export function limitersTable(limiters: readonly KnownLimiter[]): string {
  const rows = limiters.map(({ name, declared, isFollowed }) => [
    plain(name),
    declared.map(numbersOf).join('; or ') || 'no count',
    isFollowed ? 'yes' : 'no',
  ]);
  return table(['LIMITER', 'DECLARED', 'FOLLOWS CHANGES'], rows);
}

function numbersOf(numbers: DeclaredNumbers): string {
  const { algorithm, limit, windowMs, burst, open, leaseMs, keepMs, maxWaitMs } = numbers;
  const parts = [
    windowMs === undefined ? `${limit} at once` : `${limit} per ${durationOf(windowMs)}`,
    ...(burst === undefined ? [] : [`burst ${burst}`]),
    ...(open === undefined ? [] : [`${open} if not critical`]),
    ...(leaseMs === undefined ? [] : [`lease ${durationOf(leaseMs)}`]),
    ...(keepMs === undefined ? [] : [`kept for ${durationOf(keepMs)}`]),
    ...(maxWaitMs === undefined ? [] : [`waits up to ${durationOf(maxWaitMs)}`]),
  ];
  return plain(`${parts.join(', ')} (${algorithm})`);
}

/** The duration as a declaration would write it, in the largest unit that divides it. */
function durationOf(ms: number): string {
  const unit = UNITS.find(([length]) => ms >= length && ms % length === 0);
  return unit ? `${ms / unit[0]}${unit[1]}` : `${ms}ms`;
}
