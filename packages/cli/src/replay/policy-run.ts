import type { DecisionEvent, GuardLimiter } from '@spillway/core';
import { MAX_CALLERS, type Timing } from './caller-table.js';
import type { LogEntry } from './log-entry.js';
import { limitersOf, numbersOf, type Policy, whyNot } from './policy.js';
import { type OnDecision, Rehearsal } from './rehearsal.js';
import { type JudgedLimiter, type PolicyReport, rangeOf, type UnjudgedLimiter } from './report.js';
import { isRejection, type RateNumbers, Tally } from './tally.js';
import { MAX_TRACED } from './trace.js';
import { type Bounds, tryOthers } from './trials.js';

/**
 * The shortest window that can be judged by a log with whole-second stamps. In a shorter one, too much depends on
 * fractions of a second.
 */
const SHORTEST_MS = 10_000;

export interface RunOptions extends Bounds {
  readonly top: number;
  readonly wholeSeconds: boolean;
}

interface Judged {
  readonly numbers: RateNumbers;
  readonly tally: Tally;
  whyUntried: string | undefined;
}

/** The caller of a request, and whether the request would be rejected with stamps evenly spread. */
export interface Verdict {
  caller: string | undefined;
  isRejected: boolean;
}

export class PolicyRun {
  /** The verdict on the latest request. */
  readonly latest: Verdict = { caller: undefined, isRejected: false };
  /** Like {@link latest}, without the limiters that have a short window. */
  readonly longLatest: Verdict = { caller: undefined, isRejected: false };
  private readonly policy: Policy;
  private readonly judged = new Map<string, Judged>();
  private readonly rehearsals: readonly [Rehearsal, Rehearsal];
  /** How many requests were rejected, by {@link Timing}. `longRejected` ignores limiters with a short window. */
  private readonly rejected: [number, number] = [0, 0];
  private readonly longRejected: [number, number] = [0, 0];
  private readonly latestUs: [number, number] = [0, 0];
  private now: { readonly entry: LogEntry; readonly atUs: number } | undefined;

  constructor(policy: Policy, onDecision?: OnDecision) {
    this.policy = policy;
    const first = new Rehearsal(policy, (event, key) => this.note(0, event, key));
    const second = new Rehearsal(policy, (event, key, request) => {
      this.note(1, event, key);
      onDecision?.(event, key, request);
    });
    this.rehearsals = [first, second];
    for (const limiter of limitersOf(policy)) {
      const numbers = numbersOf(limiter);
      if (numbers) {
        const tally = new Tally(limiter.name, numbers);
        this.judged.set(limiter.name, { numbers, tally, whyUntried: whyUntried(limiter) });
      }
    }
  }

  get hasShortWindow(): boolean {
    return [...this.judged.values()].some(({ numbers }) => numbers.windowMs < SHORTEST_MS);
  }

  decide(entry: LogEntry): Promise<void> | undefined {
    const first = this.decideAt(0, entry, entry.timeUs);
    return first
      ? first.then(() => this.decideAt(1, entry, entry.spreadUs))
      : this.decideAt(1, entry, entry.spreadUs);
  }

  report(options: RunOptions): PolicyReport {
    const limiters = limitersOf(this.policy).map((limiter) => this.reportOf(limiter, options));
    const rejected = options.wholeSeconds ? this.longRejected : this.rejected;
    return { limiters, rejected: rangeOf(rejected) };
  }

  notes(): string[] {
    const [one, other] = this.rehearsals;
    const notes = [...one.faults].map(
      ([name, { count, first }]) => `${name} failed for ${count} requests: ${first}.`,
    );
    for (const [name, { tally, whyUntried }] of this.judged) {
      if (whyUntried) notes.push(`Other numbers of ${name} were not tried: ${whyUntried}.`);
      if (tally.trace.length === MAX_TRACED) {
        notes.push(`Other numbers of ${name} were tried on its first 2,000,000 requests.`);
      }
      if (tally.callers.size > MAX_CALLERS) {
        notes.push(
          `${name} has more than 1,000,000 callers: those that came later are shown as one, and not tried.`,
        );
      }
    }
    const overflowed = Math.max(one.overflowed, other.overflowed);
    if (overflowed > 0) {
      notes.push(`${overflowed} decisions used shared counts: the log has too many callers.`);
    }
    return notes;
  }

  private decideAt(timing: Timing, entry: LogEntry, stampUs: number): Promise<void> | undefined {
    // Stamps that are spread over a second may be later than the finer stamps of another log.
    const atUs = Math.max(this.latestUs[timing], stampUs);
    this.latestUs[timing] = atUs;
    this.now = { entry, atUs };
    for (const verdict of [this.latest, this.longLatest]) {
      verdict.caller = undefined;
      verdict.isRejected = false;
    }
    const decided = this.rehearsals[timing].decide(entry, atUs);
    const end = (): void => {
      if (this.latest.isRejected) this.rejected[timing] += 1;
      if (this.longLatest.isRejected) this.longRejected[timing] += 1;
    };
    if (decided) return decided.then(end);
    end();
    return undefined;
  }

  private note(timing: Timing, event: DecisionEvent, key: string | undefined): void {
    const { now } = this;
    const judged = this.judged.get(event.limiter);
    if (!now || !judged || key === undefined || event.outcome === 'skipped') return;
    if (now.entry.isWholeSecond && judged.numbers.windowMs < SHORTEST_MS) return;
    if (!isDeclared(event, judged.numbers)) judged.whyUntried ??= HAS_PLANS;
    judged.tally.count(timing, event, key, now.entry, now.atUs);
    const isRejected = isRejection(event);
    addTo(this.latest, isRejected, key);
    if (judged.numbers.windowMs >= SHORTEST_MS) addTo(this.longLatest, isRejected, key);
  }

  private reportOf(
    { name, mode, rule }: GuardLimiter,
    options: RunOptions,
  ): JudgedLimiter | UnjudgedLimiter {
    const judged = this.judged.get(name);
    const why = judged ? tooShort(judged.numbers, options.wholeSeconds) : (whyNot(rule) as string);
    if (mode === 'off') return { name, judged: false, why: "Its mode is 'off'." };
    if (why || !judged) return { name, judged: false, why };
    const { tally, numbers } = judged;
    const tried = judged.whyUntried
      ? { use: [], table: [], smallest: null }
      : tryOthers(tally, numbers, options.wholeSeconds, options);
    return tally.report(options.top, tried);
  }
}

/** The first limiter that rejects the request determines its caller; without one, the first limiter does. */
function addTo(verdict: Verdict, isRejected: boolean, key: string): void {
  if (isRejected && !verdict.isRejected) {
    verdict.isRejected = true;
    verdict.caller = key;
  }
  verdict.caller ??= key;
}

const HAS_PLANS = 'its callers have plans or overage';

/**
 * Why trials with other limits are impossible. A trial only charges the recorded costs: it can't refund units, apply
 * plans or distinguish items.
 */
function whyUntried({ refunds, rule }: GuardLimiter): string | undefined {
  if (refunds) return 'it gives units back';
  if (rule?.soft) return HAS_PLANS;
  return rule?.machine === 'distinct' ? 'it counts different things' : undefined;
}

function isDeclared({ policy, reason }: DecisionEvent, numbers: RateNumbers): boolean {
  // A plan of limit 0 rejects without numbers.
  if (!policy) return reason !== 'never';
  const { limit, windowMs, burst = limit } = numbers;
  return policy.limit === limit && policy.windowMs === windowMs && policy.burst === burst;
}

function tooShort({ windowMs }: RateNumbers, wholeSeconds: boolean): string {
  if (!wholeSeconds || windowMs >= SHORTEST_MS) return '';
  return `The log's stamps are whole seconds, so it cannot judge a window of ${windowMs / 1000} s: only windows of at least 10 s.`;
}
