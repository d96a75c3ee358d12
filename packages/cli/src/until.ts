import { UsageError } from './usage-error.js';

const INSTANT = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?) ?(Z|[+-]\d\d:\d\d)?$/;
const LONGEST_MS = 30 * 86_400_000;

/**
 * Accepts `2026-11-27T18:00Z`, and the format that `status` prints. The default time zone is this machine's.
 *
 * @returns milliseconds since the epoch
 * @throws UsageError if `text` is not an instant
 */
export function instantFrom(text: string): number {
  const [, day = '', time = '', zone = ''] = INSTANT.exec(text) ?? [];
  const ms = isDay(day) ? Date.parse(`${day}T${time}${zone}`) : Number.NaN;
  if (!Number.isNaN(ms)) return ms;
  throw new UsageError(
    '--until must be a date and a time such as 2026-11-27T18:00 (in the time zone of this machine) or ' +
      `2026-11-27T18:00Z, got ${text}. For a duration, use --for`,
  );
}

export function durationUntil(untilMs: number, nowMs: number): number {
  const ms = untilMs - nowMs;
  const at = new Date(untilMs).toISOString();
  if (ms < 1_000) throw new UsageError(`--until must be in the future, got ${at}`);
  if (ms <= LONGEST_MS) return ms;
  throw new UsageError(`--until must be at most 30 days from now, got ${at}; or use --for forever`);
}

/** `Date.parse` also accepts February 30, as a day in March. */
function isDay(day: string): boolean {
  const date = new Date(`${day}T00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(day);
}
