import {
  type DeclaredNumbers,
  delayOf,
  type LeasesAnswer,
  makeLeasesRule,
  type QueueAnswer,
  type QueueRule,
  type Rule,
} from '@spillway/core/store';
import type { RedisStore } from '@spillway/redis';
import { type CommonOptions, connected } from './connection.js';
import { type KeyOptions, keyFrom } from './keys.js';
import { EVERY, namesNear, UnknownLimiterError } from './known.js';
import { numbersOf } from './limiters-table.js';
import { print, printJson } from './output.js';
import { plain } from './plain.js';
import { type LookedAt, lookAt, lookAtAll } from './show.js';
import { table, untilOf } from './table.js';
import { UsageError } from './usage-error.js';

const PERMITS = '/permits';

/**
 * The rule that counts bookings. A process that books the next permit takes one permit that no job uses yet, so the
 * table subtracts bookings.
 */
const BOOKING: Rule = { ...makeLeasesRule(1, 1_000_000), code: 'pn' };

/**
 * A row of the table: one pace of a key, or the permits of a key. Times are milliseconds since the epoch, by the clock
 * of Redis.
 */
interface Shown {
  readonly limiter: string;
  readonly numbers: DeclaredNumbers;
  /** When a job of one unit could start; null for permits. */
  readonly nextStartMs: number | null;
  readonly pausedUntilMs: number | null;
  readonly pausedBy: string | null;
  /** How many permits are held; null for paces. */
  readonly running: number | null;
  readonly nowMs: number;
}

export function showShapers(
  shaper: string,
  key: string | undefined,
  options: CommonOptions & KeyOptions,
): Promise<void> {
  const counted = keyFrom(key, options);
  return connected(options, async (connection) => {
    const all = await connection.control.limiters();
    const isPart = (name: string) =>
      shaper === EVERY || name === shaper || name.startsWith(`${shaper}/`);
    const named = all.filter(
      ({ name, declared }) =>
        isPart(name) &&
        declared.some(({ algorithm }) => algorithm === 'shaper' || name.endsWith(PERMITS)),
    );
    if (named.length === 0 && shaper !== EVERY) {
      if (all.some(({ name }) => name === shaper)) {
        throw new UsageError(`"${shaper}" is not a shaper. For its counts, use show.`);
      }
      throw new UnknownLimiterError(shaper, namesNear(shaper, all));
    }
    const looks = await lookAtAll(connection, named, counted);
    const rows = await Promise.all(looks.map((look) => shownOf(look, counted, connection.store)));
    if (options.json) {
      const shapers = rows.map(({ nowMs, ...row }) => row);
      printJson({ shapers: { key: counted, shapers } });
    } else print(shapersTable(rows));
  });
}

async function shownOf(look: LookedAt, key: string, store: RedisStore): Promise<Shown> {
  const { limiter, numbers, rule, answer } = look;
  const nowMs = answer.nowUs / 1000;
  if (rule.machine !== 'queue') {
    const looks = [rule, BOOKING].map((own) => lookAt(limiter, key, own));
    const [permits, bookings] = (await store.apply(looks)) as readonly LeasesAnswer[];
    const running = Math.max(0, (permits?.used ?? 0) - (bookings?.used ?? 0));
    return {
      ...{ limiter, numbers, nextStartMs: null, pausedUntilMs: null, pausedBy: null },
      ...{ running, nowMs },
    };
  }
  const { pausedUntilUs } = answer as QueueAnswer;
  const isPaused = pausedUntilUs > 0;
  return {
    limiter,
    numbers,
    nextStartMs: nowMs + delayOf(rule as QueueRule, answer as QueueAnswer, 1),
    pausedUntilMs: isPaused ? pausedUntilUs / 1000 : null,
    pausedBy: isPaused ? await noteOf(limiter, key, store) : null,
    running: null,
    nowMs,
  };
}

/**
 * Who paused the key; null if that is unknown. A shaper with several paces has a name for each, such as `name/pace`,
 * but who paused it is stored under the shaper's name alone.
 */
async function noteOf(
  limiter: string,
  key: string,
  { values }: RedisStore,
): Promise<string | null> {
  for (const name of [limiter, limiter.replace(/\/[^/]*$/, '')]) {
    const bytes = await values.get({ limiter: name, key, id: 'paused-by' });
    if (bytes) return new TextDecoder().decode(bytes);
  }
  return null;
}

function shapersTable(rows: readonly Shown[]): string {
  if (rows.length === 0) return 'No shaper is announced.';
  return table(
    ['SHAPER', 'IN FORCE', 'NEXT START', 'PAUSED UNTIL', 'BY', 'RUNNING'],
    rows.map(({ limiter, numbers, nextStartMs, pausedUntilMs, pausedBy, running, nowMs }) => [
      plain(limiter),
      numbersOf(numbers),
      nextStartMs === null ? '' : nextStartMs <= nowMs ? 'now' : untilOf(nextStartMs, nowMs),
      pausedUntilMs === null ? '' : untilOf(pausedUntilMs, nowMs),
      plain(pausedBy ?? ''),
      running === null ? '' : `${running}`,
    ]),
  );
}
