/**
 * Finds why two limiters differ about a request, from facts about the other limiter and from earlier decisions of both.
 */

import { RecentSubjects } from '../../base/log.js';

/**
 * A limiter's decision about a request. The more properties are set, the better a comparison can tell why two limiters
 * differ.
 */
export interface Verdict {
  readonly allowed: boolean;
  /** Units left after the request. */
  readonly remaining?: number | undefined;
  /** Units used after the request. */
  readonly used?: number | undefined;
  /** Units per window. */
  readonly limit?: number | undefined;
  /** The key that was counted, such as the client's address or an account. */
  readonly key?: string | undefined;
  readonly cost?: number | undefined;
  /** Milliseconds until the window ends, or until the bucket is full again. */
  readonly resetMs?: number | undefined;
}

/**
 * The likely cause of a divergence:
 *
 * - `key`: the limiters group requests by different keys.
 * - `cost`: they charge different costs.
 * - `limit`: their limits differ.
 * - `window`: their windows begin at different times, or their algorithms differ.
 * - `unknown`: the facts don't show a cause. Return more facts about the other limiter, such as `limit` and `key`.
 */
export type Cause = 'key' | 'cost' | 'limit' | 'window' | 'unknown';

interface Pair {
  readonly ours: number;
  readonly theirs: number;
  /** Whether the limiters charged different costs for the last request of this key that both let pass. */
  readonly isUnequal: boolean;
}

/** Reset times that differ by at most this much count as equal, because one limiter is read later than the other. */
const SAME_TIME_MS = 1_000;

/** A value counts as the other limiter's limit once it has this many more votes for it than against it. */
const MAJORITY = 10;

export class Causes {
  private readonly last = new RecentSubjects<Pair>();
  /** The leading candidate for the other limiter's limit (majority vote of R. S. Boyer and J. S. Moore, 1981). */
  private candidate = Number.NaN;
  private votes = 0;
  private voter = '';

  observe(ours: Verdict, theirs: Verdict): Cause {
    const { key = '' } = ours;
    const before = this.last.get(key);
    const now = pairOf(ours, theirs, before);
    this.last.set(key, now);
    if (ours.allowed && theirs.allowed) this.vote(key, (ours.used ?? Number.NaN) + now.theirs);
    return byFacts(ours, theirs) ?? this.byVote(ours) ?? byTrend(theirs, before, now);
  }

  /**
   * Counts a vote for a value of the other limiter's limit. If both limiters have counted the same requests, our used
   * units plus the other's remaining units are that limit, for every caller.
   */
  private vote(key: string, limit: number): void {
    if (Number.isNaN(limit) || key === this.voter) return;
    this.voter = key;
    if (this.votes === 0) this.candidate = limit;
    this.votes += limit === this.candidate ? 1 : -1;
  }

  private byVote({ limit }: Verdict): Cause | undefined {
    return this.votes >= MAJORITY && this.candidate !== limit ? 'limit' : undefined;
  }
}

function pairOf(ours: Verdict, theirs: Verdict, before: Pair | undefined): Pair {
  const now = { ours: ours.remaining ?? Number.NaN, theirs: theirs.remaining ?? Number.NaN };
  const fell = before && { ours: before.ours - now.ours, theirs: before.theirs - now.theirs };
  const isCharge = ours.allowed && theirs.allowed && fell && fell.ours > 0 && fell.theirs > 0;
  return { ...now, isUnequal: isCharge ? fell.ours !== fell.theirs : (before?.isUnequal ?? false) };
}

function byFacts(ours: Verdict, theirs: Verdict): Cause | undefined {
  const differs = (fact: 'key' | 'cost' | 'limit'): boolean =>
    theirs[fact] !== undefined && theirs[fact] !== ours[fact];
  if (differs('key')) return 'key';
  if (differs('cost')) return 'cost';
  if (differs('limit')) return 'limit';
  const apartMs = Math.abs((ours.resetMs ?? Number.NaN) - (theirs.resetMs ?? Number.NaN));
  return apartMs > SAME_TIME_MS ? 'window' : undefined;
}

function byTrend(theirs: Verdict, before: Pair | undefined, now: Pair): Cause {
  if (now.isUnequal) return theirs.key === undefined ? 'key' : 'cost';
  if (before && now.ours > before.ours !== now.theirs > before.theirs) return 'window';
  // If the other limiter's key and limit are known, they equal ours, so only the windows can differ.
  return theirs.key === undefined || theirs.limit === undefined ? 'unknown' : 'window';
}
