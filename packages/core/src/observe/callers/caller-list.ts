/** A caller, with a lower and an upper bound of the number of its requests. */
export interface CallerCount {
  /** The key as the limiter counts it, or the encrypted key. The key of an address is `@` and its canonical text. */
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

export function mergeLists(lists: readonly CallerList[]): CallerList {
  const sums = new Map<string, { atLeast: number; aboveOthers: number }>();
  let total = 0;
  let others = 0;
  for (const list of lists) {
    total += list.total;
    others += list.othersAtMost;
    for (const { caller, atLeast, atMost } of list.callers) {
      const sum = sums.get(caller) ?? { atLeast: 0, aboveOthers: 0 };
      sum.atLeast += atLeast;
      // A caller that a list doesn't contain may still have up to `othersAtMost` requests.
      sum.aboveOthers += atMost - list.othersAtMost;
      sums.set(caller, sum);
    }
  }
  const all = Array.from(sums, ([caller, { atLeast, aboveOthers }]) => {
    return { caller, atLeast, atMost: Math.min(total, others + aboveOthers) };
  });
  all.sort((a, b) => b.atLeast - a.atLeast || b.atMost - a.atMost);
  const dropped = all.splice(LISTED);
  return {
    total,
    callers: all,
    othersAtMost: Math.min(total, Math.max(others, ...dropped.map(({ atMost }) => atMost))),
  };
}
