/** A caller, with a lower and an upper bound of the number of its requests. */
export interface CallerCount {
  /**
   * The key as the limiter counts it, or the encrypted key. The key of an address is `@` and its canonical text. Of a
   * key over 256 UTF-16 units, only the beginning and the end are kept.
   */
  readonly caller: string;
  readonly atLeast: number;
  /** The same as {@link atLeast} unless there were too many callers or requests to count all. */
  readonly atMost: number;
}

/** The callers with the most requests, in descending order. */
export interface CallerList {
  /** Requests of all callers, exact. */
  readonly total: number;
  readonly callers: readonly CallerCount[];
  /** An upper bound of the requests of any caller outside the list. 0 if the list is complete. */
  readonly othersAtMost: number;
}

const LISTED = 20;

export const NO_CALLERS: CallerList = { total: 0, callers: [], othersAtMost: 0 };

interface Sum {
  caller: string;
  atLeast: number;
  aboveOthers: number;
  /** The latest list that contained the caller. */
  last: CallerList;
}

/**
 * Adds up lists, and keeps the 20 callers with the highest upper bounds: the merge of Misra-Gries summaries (P. K.
 * Agarwal et al., "Mergeable Summaries", 2012). However often lists are merged, a caller with more than 1/21 of the
 * total is kept, unless some of its requests were already missing in the lists.
 */
export function mergeLists(lists: readonly CallerList[]): CallerList {
  const sums = new Map<string, Sum>();
  let total = 0;
  let others = 0;
  for (const list of lists) {
    total += list.total;
    others += list.othersAtMost;
    for (const { caller, atLeast, atMost } of list.callers) {
      const known = sums.get(caller);
      const sum = known ?? { caller, atLeast: 0, aboveOthers: 0, last: list };
      sum.atLeast += atLeast;
      // A caller that a list doesn't contain may still have up to `othersAtMost` requests. A list contains a caller
      // twice if two keys became the same sealed text.
      sum.aboveOthers += sum === known && sum.last === list ? atMost : atMost - list.othersAtMost;
      sum.last = list;
      sums.set(caller, sum);
    }
  }
  const all = Array.from(sums.values(), ({ caller, atLeast, aboveOthers }) => {
    return { caller, atLeast, atMost: Math.min(total, others + aboveOthers) };
  });
  all.sort((a, b) => b.atMost - a.atMost || b.atLeast - a.atLeast);
  const [dropped] = all.splice(LISTED);
  return {
    total,
    callers: all.sort((a, b) => b.atLeast - a.atLeast || b.atMost - a.atMost),
    othersAtMost: Math.min(total, Math.max(others, dropped?.atMost ?? 0)),
  };
}
