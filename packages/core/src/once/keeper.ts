/** The part of a guard that handles claims and stored responses. Only guards with an `idempotency()` have it. */

import { helpFor, mustBe, SpillwayError } from '../base/errors.js';
import { isLater } from '../base/host.js';
import type { Decision } from '../contract/decision.js';
import type {
  ClaimTurn,
  KeepContext,
  Keeper,
  KeeperParts,
  OwnProblem,
  Settled,
  Settlement,
  StoredExchange,
} from '../contract/keeping.js';
import type { LimiterTurn } from '../contract/limiter-turn.js';
import type { Answer } from '../contract/rule.js';
import type { Values } from '../contract/store.js';
import { decisionOnStoreError } from '../guard/turn.js';
import { sharedValues } from '../memory/memory-values.js';

export class GuardKeeper<Raw> implements Keeper<Raw> {
  readonly problemOf: typeof problemOfClaim = problemOfClaim;
  private readonly context: KeepContext;

  constructor({ context, client, releases, storeTimeoutMs, others }: KeeperParts) {
    if (others.length > 0) {
      throw new SpillwayError(
        'SPW_LIMITER_INVALID',
        'a guard has more than one idempotency(): remove the others',
      );
    }
    this.context = {
      ...context,
      clock: client.clock,
      values: valuesOf(client),
      storeTimeoutMs,
      ask: (step) => client.link.ask([step], ([answer]) => answer as Answer),
      whenLost: (step, lost) => releases.permitsOf(step).whenLost(step, lost),
      abandon: (step) => releases.permitsOf(step).abandon(step),
      writeLater: (last, value) => releases.permitsOf(last).writeLater(last, value),
      end: (step, last) => releases.giveBack([releases.permitsOf(step).release(step, last)]),
    };
  }

  rejecting<Turn extends ClaimTurn<Raw>>(turns: readonly Turn[]): Turn | undefined {
    const rejections = turns.filter(({ decision }) => decision && !decision.allowed);
    const [turn] = rejections;
    const isClaim = turn?.step?.claim !== undefined && turn.decision?.outcome !== 'error';
    return rejections.length === 1 && isClaim ? turn : undefined;
  }

  settle(turn: ClaimTurn<Raw>, exchange: StoredExchange): Settlement | Promise<Settlement> {
    const { keeping } = turn.limiter;
    const rejectOnFault = (error: unknown): Settled => {
      this.context.fault({ limiter: turn.limiter.name, source: 'decide', error });
      const broken = decisionOnStoreError(turn.limiter, turn.mode, this.context);
      return { decision: { ...broken, allowed: false, reason: 'store-error' } };
    };
    try {
      const settled = keeping?.settle(turn as LimiterTurn<Raw>, exchange, this.context);
      if (!settled) throw new Error('a limiter with claims has no keeping');
      return isLater(settled) ? settled.catch(rejectOnFault) : settled;
    } catch (error) {
      return rejectOnFault(error);
    }
  }

  begin(turns: readonly ClaimTurn<Raw>[], exchange: StoredExchange): Promise<void> | undefined {
    let later: Promise<void> | undefined;
    for (const turn of turns) {
      const { limiter, step, answer } = turn;
      if (!step?.claim || !answer) continue;
      if (!answer.allowed && !answer.failure) continue; // in shadow mode, another request may have the claim
      const reportFault = (error: unknown): void =>
        this.context.fault({ limiter: limiter.name, source: 'adapter', error });
      try {
        const begun = limiter.keeping?.begin(turn as LimiterTurn<Raw>, exchange, this.context);
        if (begun) later = begun.catch(reportFault);
      } catch (error) {
        reportFault(error);
      }
    }
    return later;
  }

  settledIn(turns: readonly ClaimTurn<Raw>[]): Settled | undefined {
    return turns.find(({ settled }) => settled)?.settled;
  }
}

function valuesOf({ store, withoutStore, clock }: KeeperParts['client']): Values {
  const values = store.values ?? (withoutStore > 0 ? sharedValues(store, clock) : undefined);
  if (values) return values;
  throw mustBe('store', 'one with values, which idempotency() needs', store, 'SPW_STORE_INVALID');
}

type ClaimReason = 'running' | 'mismatch' | 'key-invalid' | 'not-kept';

const PROBLEMS: Readonly<Record<ClaimReason, Omit<OwnProblem, 'type'>>> = {
  running: {
    title: 'Request in progress',
    detail: 'A request with this idempotency key is in progress.',
  },
  mismatch: {
    title: 'Idempotency key used for another request',
    detail: 'This idempotency key was used for another request.',
    advice: 'Send the same request, or use another key.',
  },
  'key-invalid': {
    title: 'Idempotency key missing or invalid',
    detail: 'This request needs an idempotency key of 1 to 255 printable ASCII characters.',
    advice: 'Send one in the header of that name.',
  },
  'not-kept': {
    title: 'Response not stored',
    detail: 'The request with this idempotency key was completed, but its response was not stored.',
    advice: 'It will not run again: get its result in another way.',
  },
};

/** Details of a mismatch, by status. */
const DETAILS: Readonly<Record<number, string>> = {
  413: 'The body of this repeated request is too large to be compared.',
  408: 'The body of this repeated request did not arrive in time.',
};

function problemOfClaim({ reason, status = 0 }: Decision): OwnProblem | undefined {
  const name = reason as ClaimReason;
  if (!Object.hasOwn(PROBLEMS, name)) return undefined;
  const problem = PROBLEMS[name];
  return { type: helpFor(name), ...problem, detail: DETAILS[status] ?? problem.detail };
}
