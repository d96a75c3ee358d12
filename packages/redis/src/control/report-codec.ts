/** The text of what a process reports about one limiter. */

import type { Mode } from '@spillway/core';
import type { CallerList, CallerTops, LimiterReport, OutcomeCounts } from '@spillway/core/who';

/** In the order in which they are stored. */
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

/** Format 1: the mode, the counts by outcome, and four lists, as JSON. */
export function encodeReport({ mode, counts, rejected, wouldReject }: LimiterReport): string {
  const numbers = OUTCOMES.map((outcome) => counts[outcome]);
  const lists = [rejected, wouldReject].flatMap(({ minute, quarter }) => [minute, quarter]);
  return `${FORMAT}${JSON.stringify([mode, numbers, ...lists.map(encodeList)])}`;
}

/**
 * The report of a text; undefined if it has another format, or is invalid.
 *
 * @param hasMinute false if the text is older than a minute
 */
export function decodeReport(
  limiter: string,
  text: string,
  hasMinute: boolean,
): LimiterReport | undefined {
  if (!text.startsWith(FORMAT)) return undefined;
  try {
    const [mode, numbers, ...lists] = JSON.parse(text.slice(FORMAT.length)) as Stored;
    const counts = OUTCOMES.map((outcome, at) => [outcome, numbers[at] ?? 0]);
    const [minute, quarter, wouldMinute, wouldQuarter] = lists.map(decodeList);
    const tops = (recent = NONE, older = NONE): CallerTops => {
      return { minute: hasMinute ? recent : NONE, quarter: older };
    };
    return {
      limiter,
      mode,
      counts: Object.fromEntries(counts) as OutcomeCounts,
      rejected: tops(minute, quarter),
      wouldReject: tops(wouldMinute, wouldQuarter),
    };
  } catch {
    return undefined;
  }
}

type StoredList = [total: number, othersAtMost: number, ...callers: (readonly unknown[])[]];
type Stored = [mode: Mode, counts: readonly number[], ...lists: StoredList[]];

function encodeList({ total, othersAtMost, callers }: CallerList): StoredList {
  const stored = callers.map(({ caller, atLeast, atMost }) => [caller, atLeast, atMost]);
  return [total, othersAtMost, ...stored];
}

function decodeList([total, othersAtMost, ...callers]: StoredList): CallerList {
  const found = callers.map(([caller, atLeast, atMost]) => {
    return { caller: String(caller), atLeast: Number(atLeast), atMost: Number(atMost) };
  });
  return { total: Number(total), othersAtMost: Number(othersAtMost), callers: found };
}
