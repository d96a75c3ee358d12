/** What is done when a request is over: limiters are told, and what is to be given back goes to the store. */

import type { Clock } from '../base/clock.js';
import { isThenable } from '../base/host.js';
import type { Limiter, RequestOutcome, ResponseEnd, StepContext } from '../contract/limiter.js';
import type { Step } from '../contract/store.js';
import { read, stepsFrom } from '../limits/callbacks.js';
import type { Permits } from './permits/permits.js';
import {
  type DecidedTurn,
  hearsEnd,
  holdsPermit,
  mayEnd,
  mayHoldPermit,
  storeGranted,
} from './turn.js';

export class Ending<Raw> {
  private readonly permits: Permits;
  private readonly clock: Clock;
  private readonly context: StepContext;
  /** Whether any limiter wants to know how long requests take. */
  private readonly isTimed: boolean;

  constructor(
    limiters: readonly Limiter<Raw>[],
    permits: Permits,
    clock: Clock,
    context: StepContext,
  ) {
    this.permits = permits;
    this.clock = clock;
    this.context = context;
    this.isTimed = limiters.some(({ finish }) => finish !== undefined);
  }

  /** When a request comes. */
  startUs(): number {
    return this.isTimed ? this.clock.nowUs() : 0;
  }

  /** Holds the permits of a request that may go on; the turns with something to do at its end, undefined for none. */
  begin(
    turns: readonly DecidedTurn<Raw>[],
    allowed: boolean,
  ): readonly DecidedTurn<Raw>[] | undefined {
    // Nearly always there are none.
    for (let i = 0; i < turns.length; i += 1) {
      if (mayEnd(turns[i] as DecidedTurn<Raw>)) return this.open(turns, allowed);
    }
    return undefined;
  }

  private open(
    turns: readonly DecidedTurn<Raw>[],
    allowed: boolean,
  ): readonly DecidedTurn<Raw>[] | undefined {
    let open: DecidedTurn<Raw>[] | undefined;
    for (const turn of turns) {
      const holds = turn.step?.lease !== undefined && this.holds(turn, turns, allowed);
      if (holds && allowed) this.permits.hold(turn.step as Step);
      if (holds || hearsEnd(turn, !allowed)) {
        open ??= [];
        open.push(turn);
      }
    }
    return open;
  }

  /**
   * Ends the turns of a request, which {@link begin} gave. What they give back goes to the store in one call; what
   * `refundIf` says later, in a second one. The promise never rejects.
   */
  end(
    turns: readonly DecidedTurn<Raw>[],
    end: ResponseEnd,
    refused: boolean,
    startUs: number,
  ): Promise<void> | undefined {
    const durationMs = this.isTimed ? (this.clock.nowUs() - startUs) / 1000 : 0;
    const outcome = refused ? { ...end, durationMs, refused } : { ...end, durationMs };
    const steps: Step[] = [];
    const later: Promise<readonly Step[]>[] = [];
    for (const turn of turns) {
      if (turn.step?.lease) steps.push(this.permits.release(turn.step));
      if (!hearsEnd(turn, refused)) continue;
      const back = this.finish(turn, outcome);
      if (isThenable(back)) later.push(back as Promise<readonly Step[]>);
      else steps.push(...back);
    }
    const given = this.permits.giveBack(steps);
    return later.length === 0 ? given : this.permits.track(this.endLater(given, later));
  }

  private finish(
    turn: DecidedTurn<Raw>,
    outcome: RequestOutcome,
  ): readonly Step[] | Promise<readonly Step[]> {
    const { limiter, request } = turn;
    const { context } = this;
    const asking = { limiter: limiter.name, request, context };
    const own = read(asking, 'finish', () => limiter.finish?.(turn, outcome, context));
    return isThenable(own) ? own.then((steps) => stepsFrom(asking, steps)) : stepsFrom(asking, own);
  }

  private async endLater(
    given: Promise<void> | undefined,
    later: readonly Promise<readonly Step[]>[],
  ): Promise<void> {
    const lists = await Promise.all(later);
    await Promise.all([given, this.permits.giveBack(lists.flat())]);
  }

  /** A refusal charged nothing, unless the store let it pass and we did not, or nobody knows what the store did. */
  private holds(
    turn: DecidedTurn<Raw>,
    turns: readonly DecidedTurn<Raw>[],
    allowed: boolean,
  ): boolean {
    return allowed || storeGranted(turns) ? holdsPermit(turn) : mayHoldPermit(turn);
  }
}
