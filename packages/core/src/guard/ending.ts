import type { Clock } from '../base/clock.js';
import { isThenable } from '../base/host.js';
import type { Admission } from '../contract/admission.js';
import type { Limiter, RequestOutcome } from '../contract/limiter.js';
import type { ResponseEnd, StepContext } from '../contract/limiter-turn.js';
import type { Step } from '../contract/store.js';
import { readOption, stepsFrom } from '../limits/callbacks.js';
import type { Observers } from '../observe/observers.js';
import type { Releases } from './releases.js';
import { type DecidedTurn, mayEnd, needsEnd, takesHold } from './turn.js';

export class Ending<Raw> {
  readonly releases: Releases;
  private readonly clock: Clock;
  private readonly context: StepContext;
  private readonly isTimed: boolean;
  private readonly patienceMs: number;
  readonly observers: Observers;

  constructor(
    limiters: readonly Limiter<Raw>[],
    releases: Releases,
    clock: Clock,
    context: StepContext,
    patienceMs: number,
    observers: Observers,
  ) {
    this.observers = observers;
    this.patienceMs = patienceMs;
    this.releases = releases;
    this.clock = clock;
    this.context = context;
    this.isTimed = limiters.some(({ finish }) => finish !== undefined);
  }

  startUs(): number {
    return this.isTimed ? this.clock.nowUs() : 0;
  }

  /**
   * Starts renewing the permits and claims of a request. `turns` has one turn for each limiter. Returns the turns that
   * need work when the request ends.
   */
  beginTurns(
    turns: readonly DecidedTurn<Raw>[],
    admission: Admission,
  ): readonly DecidedTurn<Raw>[] | undefined {
    // In the usual case no turn needs work at the end, and nothing is allocated.
    for (let i = 0; i < turns.length; i += 1) {
      if (mayEnd(turns[i] as DecidedTurn<Raw>)) return this.toEnd(turns, admission);
    }
    return this.watched(admission.allowed);
  }

  private toEnd(
    turns: readonly DecidedTurn<Raw>[],
    admission: Admission,
  ): readonly DecidedTurn<Raw>[] | undefined {
    const { allowed } = admission;
    let open = this.watched(allowed);
    for (const turn of turns) {
      const { step } = turn;
      const isHeld = step && takesHold(turn) && this.releases.permitsOf(step).begin(turn, turns);
      if (isHeld || needsEnd(turn, !allowed)) {
        open ??= [];
        open.push(turn);
        if (allowed) turn.limiter.begin?.(turn, admission, this);
      }
    }
    return open;
  }

  private watched(allowed: boolean): DecidedTurn<Raw>[] | undefined {
    return allowed && this.observers.wantsEnds ? [] : undefined;
  }

  /**
   * Ends the turns that {@link beginTurns} returned. All refunds and releases go to the store in one call, together
   * with the end of a claim if that is ready in time. Refunds of an async `refundIf` follow in a second call. The
   * promise never rejects.
   */
  endTurns(
    turns: readonly DecidedTurn<Raw>[],
    end: ResponseEnd,
    rejected: boolean,
    startUs: number,
  ): Promise<void> | undefined {
    const durationMs = this.isTimed ? (this.clock.nowUs() - startUs) / 1000 : 0;
    const outcome = rejected ? { ...end, durationMs, rejected: true } : { ...end, durationMs };
    const { releases } = this;
    const steps: Step[] = [];
    const later: Promise<readonly Step[]>[] = [];
    let given: Promise<void> | undefined;
    let claim: Promise<readonly Step[]> | undefined;
    for (const turn of turns) {
      const { step } = turn;
      if (step?.lease) steps.push(releases.permitsOf(step).release(step));
      const back = step?.claim
        ? this.endClaim(turn, step, outcome)
        : needsEnd(turn, rejected) && this.finish(turn, outcome);
      if (!back) continue;
      if (!isThenable(back)) steps.push(...back);
      else if (step?.claim) claim = back;
      else later.push(back);
    }
    if (claim) {
      // Waiting for the claim saves a call. The wait is limited, because a slow claim must not delay permits and
      // refunds.
      const giveBackNow = (own: readonly Step[]) => releases.giveBack(own);
      given = releases.permits?.giveBackWith(claim, steps, giveBackNow, this.patienceMs);
    } else given = releases.giveBack(steps);
    return later.length === 0 ? given : releases.track(this.endLater(given, later));
  }

  private endClaim(
    turn: DecidedTurn<Raw>,
    step: Step,
    outcome: RequestOutcome,
  ): readonly Step[] | Promise<readonly Step[]> {
    const permits = this.releases.permitsOf(step);
    if (outcome.rejected) return [permits.release(step)];
    return permits.endClaim(step, this.context, (context) => this.finish(turn, outcome, context));
  }

  private finish(
    turn: DecidedTurn<Raw>,
    outcome: RequestOutcome,
    context: StepContext = this.context,
  ): readonly Step[] | Promise<readonly Step[]> {
    const { limiter, request } = turn;
    const asking = { limiter: limiter.name, request, context };
    const own = readOption(asking, 'finish', () => limiter.finish?.(turn, outcome, this.context));
    return isThenable(own) ? own.then((steps) => stepsFrom(asking, steps)) : stepsFrom(asking, own);
  }

  private async endLater(
    given: Promise<void> | undefined,
    later: readonly Promise<readonly Step[]>[],
  ): Promise<void> {
    const lists = await Promise.all(later);
    await Promise.all([given, this.releases.giveBack(lists.flat())]);
  }
}
