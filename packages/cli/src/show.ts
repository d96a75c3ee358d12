import type { Step } from '@spillway/core';
import { type Answer, type DeclaredNumbers, measure, type Rule } from '@spillway/core/store';
import type { KnownLimiter } from '@spillway/redis';
import { type CommonOptions, type Connection, connected } from './connection.js';
import { effectiveSettings, liveOf } from './in-force.js';
import { type KeyOptions, keyFrom, rulesOf } from './keys.js';
import { limitersNamed } from './known.js';
import { numbersOf } from './limiters-table.js';
import { print, printJson } from './output.js';
import { plain } from './plain.js';
import { table, untilOf } from './table.js';

interface Count {
  readonly limiter: string;
  readonly numbers: DeclaredNumbers;
  readonly used: number;
  readonly remaining: number;
  /** NaN if the time until the reset can't be known. */
  readonly resetMs: number;
}

export interface LookedAt {
  readonly limiter: string;
  readonly numbers: DeclaredNumbers;
  readonly rule: Rule;
  readonly answer: Answer;
}

export function show(
  limiter: string,
  key: string | undefined,
  options: CommonOptions & KeyOptions,
): Promise<void> {
  const counted = keyFrom(key, options);
  return connected(options, async (connection) => {
    const named = await limitersNamed(connection.control, limiter, undefined);
    const looks = await lookAtAll(connection, named, counted);
    const counts = looks.map(({ limiter: name, numbers, rule, answer }): Count => {
      const { used, remaining, resetMs } = measure(rule, answer, 1);
      return { limiter: name, numbers, used, remaining, resetMs };
    });
    if (options.json) printJson({ show: { key: counted, counts } });
    else print(countsTable(counts, Date.now()));
  });
}

export async function lookAtAll(
  { control, store }: Pick<Connection, 'control' | 'store'>,
  named: readonly KnownLimiter[],
  key: string,
): Promise<readonly LookedAt[]> {
  await control.refresh(); // loads the limits of the key
  const overrides = await control.list();
  const looks: LookedAt[] = [];
  for (const known of named) {
    const limits = control.limitsOf?.(known.name, key);
    const own = limits
      ? known.declared.map((declared) => liveOf(declared, limits))
      : effectiveSettings(known, overrides).numbers;
    for (const numbers of own) {
      for (const rule of rulesOf(numbers)) {
        // One call for each set of numbers, because two sets may share a count.
        const [answer] = await store.apply([lookAt(known.name, key, rule)]);
        looks.push({ limiter: known.name, numbers, rule, answer: answer as Answer });
      }
    }
  }
  return looks;
}

export function lookAt(limiter: string, key: string, rule: Rule): Step {
  return { op: 'look', limiter, key, rule, cost: 1, binding: true };
}

function countsTable(counts: readonly Count[], nowMs: number): string {
  if (counts.length === 0) return 'No count: the limiter has none that can be shown.';
  const rows = counts.map(({ limiter, numbers, used, remaining, resetMs }) => [
    plain(limiter),
    numbersOf(numbers),
    `${used}`,
    `${remaining}`,
    // Rounded, because the clocks of Redis and of this machine differ, and a month does not end at 23:59:59.
    resetMs > 0 ? untilOf(Math.round((nowMs + resetMs) / 1000) * 1000, nowMs) : '',
  ]);
  return table(['LIMITER', 'IN FORCE', 'USED', 'LEFT', 'UNUSED FROM'], rows);
}
