/** How a guard deals with its limiter that keeps answers, if it has one. */

import { isLater } from '../base/host.js';
import type {
  KeepContext,
  KeptExchange,
  Settled,
  Settlement,
  StoredLimiter,
} from '../contract/limiter.js';
import type { KeptAnswer } from '../contract/recorder.js';
import type { Field } from '../contract/request.js';
import { brokenDecision } from './deciding.js';
import type { DecidedTurn, Turn } from './turn.js';

export class Keepers<Raw> {
  private readonly context: KeepContext;

  constructor(context: KeepContext) {
    this.context = context;
  }

  /** The turn that alone refuses a request, by a claim of whose state the store has told. */
  refusing(turns: readonly Turn<Raw>[]): Turn<Raw> | undefined {
    const refusals = turns.filter(({ decision }) => decision && !decision.allowed);
    const [turn] = refusals;
    const isClaim = turn?.step?.claim !== undefined && turn.decision?.outcome !== 'error';
    return refusals.length === 1 && isClaim ? turn : undefined;
  }

  /** What the limiter makes of such a turn. If it throws, the request is refused: it may have run before. */
  settle(turn: Turn<Raw>, exchange: KeptExchange): Settlement | Promise<Settlement> {
    const { keeping } = turn.limiter as StoredLimiter<Raw>;
    const fail = (error: unknown): Settled => {
      this.context.fault({ limiter: turn.limiter.name, source: 'decide', error });
      const broken = brokenDecision(turn.limiter, turn.mode, this.context);
      return { decision: { ...broken, allowed: false, reason: 'store-error' } };
    };
    try {
      const settled = keeping?.settle(turn as DecidedTurn<Raw>, exchange, this.context);
      if (!settled) throw new Error('a limiter with claims keeps no answers');
      return isLater(settled) ? settled.catch(fail) : settled;
    } catch (error) {
      return fail(error);
    }
  }

  /**
   * Tells the limiter that the handler is about to run, which waits for the promise. What it throws is a fault: its
   * answer is not kept.
   */
  begin(turns: readonly DecidedTurn<Raw>[], exchange: KeptExchange): Promise<void> | undefined {
    let later: Promise<void> | undefined;
    for (const turn of turns) {
      const { limiter, step, answer } = turn;
      if (limiter.kind !== 'stored' || !step?.claim || !answer) continue;
      if (!answer.allowed && !answer.failure) continue; // in shadow
      const fail = (error: unknown): void =>
        this.context.fault({ limiter: limiter.name, source: 'adapter', error });
      try {
        const begun = limiter.keeping?.begin(turn, exchange, this.context);
        if (begun) later = begun.catch(fail);
      } catch (error) {
        fail(error);
      }
    }
    return later;
  }

  /** The answer to give, if the request is a repeat. */
  answerIn(turns: readonly DecidedTurn<Raw>[]): KeptAnswer | undefined {
    return turns.find(({ settled }) => settled?.answer)?.settled?.answer;
  }

  /** What is added to the fields of a refusal. */
  fieldsIn(turns: readonly DecidedTurn<Raw>[]): readonly Field[] | undefined {
    return turns.find(({ settled }) => settled?.fields)?.settled?.fields;
  }
}
