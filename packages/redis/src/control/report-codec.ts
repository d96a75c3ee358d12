import type { Mode } from '@spillway/core';
import type { CallerList, CallerTops, LimiterReport, OutcomeCounts } from '@spillway/core/who';

/** The outcomes in the order in which their counts are stored. */
const OUTCOMES = [
  'allowed',
  'denied',
  'would-deny',
  'replayed',
  'would-replay',
  'skipped',
  'error',
] as const satisfies readonly (keyof OutcomeCounts)[];

const FORMAT = '1 ';
const NONE: CallerList = { total: 0, callers: [], othersAtMost: 0 };

/** The maximum length of a caller. Keys have at most 256 characters, and encrypted keys 1,041. */
const MAX_CALLER = 2_000;

export function encodeReport({
  mode,
  forMs,
  counts,
  rejected,
  wouldReject,
}: LimiterReport): string {
  const numbers = OUTCOMES.map((outcome) => counts[outcome]);
  const lists = [rejected, wouldReject].flatMap(({ minute, quarter }) => [minute, quarter]);
  return `${FORMAT}${JSON.stringify([mode, forMs, numbers, ...lists.map(encodeList)])}`;
}

/**
 * Returns undefined if the text is invalid or has another format.
 *
 * @param hasMinute false if the text is older than a minute; then the lists for the last minute are empty
 */
export function decodeReport(
  limiter: string,
  text: string,
  hasMinute: boolean,
): LimiterReport | undefined {
  if (!text.startsWith(FORMAT)) return undefined;
  try {
    const [mode, forMs, numbers, ...lists] = JSON.parse(text.slice(FORMAT.length)) as Stored;
    const counts = OUTCOMES.map((outcome, at) => [outcome, countIn(numbers[at])]);
    const [minute, quarter, wouldMinute, wouldQuarter] = lists.map(decodeList);
    const tops = (recent = NONE, older = NONE): CallerTops => {
      return { minute: hasMinute ? recent : NONE, quarter: older };
    };
    return {
      limiter,
      mode: textIn(mode) as Mode,
      forMs: countIn(forMs),
      counts: Object.fromEntries(counts) as OutcomeCounts,
      rejected: tops(minute, quarter),
      wouldReject: tops(wouldMinute, wouldQuarter),
    };
  } catch {
    return undefined;
  }
}

type StoredList = [total: unknown, othersAtMost: unknown, ...callers: (readonly unknown[])[]];
type Stored = [mode: unknown, forMs: unknown, counts: readonly unknown[], ...lists: StoredList[]];

function encodeList({ total, othersAtMost, callers }: CallerList): StoredList {
  const stored = callers.map(({ caller, atLeast, atMost }) => [caller, atLeast, atMost]);
  return [total, othersAtMost, ...stored];
}

function decodeList([total, othersAtMost, ...callers]: StoredList): CallerList {
  const found = callers.map(([caller, atLeast, atMost]) => {
    return { caller: textIn(caller), atLeast: countIn(atLeast), atMost: countIn(atMost) };
  });
  return { total: countIn(total), othersAtMost: countIn(othersAtMost), callers: found };
}

function countIn(value: unknown): number {
  if (Number.isSafeInteger(value) && (value as number) >= 0) return value as number;
  throw new Error('no count');
}

function textIn(value: unknown): string {
  if (typeof value === 'string' && value.length <= MAX_CALLER) return value;
  throw new Error('no text');
}
