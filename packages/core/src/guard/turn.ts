/** A limiter's turn in one request: the limiter is asked for a step, and the step is decided. */

import { isThenable } from '../base/host.js';
import { Junk } from '../base/junk.js';
import type { Control, LimiterSettings } from '../contract/control.js';
import type { ControlLink } from '../contract/control-link.js';
import { type Decision, type Mode, skippedDecision } from '../contract/decision.js';
import type { Settled } from '../contract/keeping.js';
import type { Limiter, LocalLimiter, Question, StoredLimiter } from '../contract/limiter.js';
import type { LimiterTurn, StepContext } from '../contract/limiter-turn.js';
import type { LimitRequest, Per } from '../contract/request.js';
import type { Answer } from '../contract/rule.js';
import type { Step } from '../contract/store.js';
import { type Decider, Pipeline } from '../engine/pipeline.js';
import { isYes, readOption, UNKNOWN_ADDRESS } from '../limits/callbacks.js';
import type { Notices } from '../observe/notices.js';
import type { Observers } from '../observe/observers.js';
import type { StoreClient } from '../stores/store-client.js';
import type { GuardOptions } from './guard-options.js';
import type { SameKey } from './same-key.js';

export interface DecidedTurn<Raw> extends LimiterTurn<Raw> {
  readonly limiter: Limiter<Raw>;
  readonly settled: Settled | undefined;
  readonly askedUs: number;
}

export class Turn<Raw> {
  readonly limiter: Limiter<Raw>;
  readonly request: LimitRequest<Raw>;
  mode: Mode;
  /** The live settings, read once so that they can't change during the decision. */
  readonly settings: LimiterSettings | undefined;
  /** Settles when the async callbacks have ended. Never rejects. Undefined without async callbacks. */
  asking: Promise<void> | undefined;
  step: Step | undefined;
  answer: Answer | undefined;
  decision: Decision | undefined;
  settled: Settled | undefined;
  /** When the store was asked, on the guard's clock; 0 in a guard without `idempotency()`. */
  askedUs: number;

  constructor(
    limiter: Limiter<Raw>,
    request: LimitRequest<Raw>,
    mode: Mode,
    settings: LimiterSettings | undefined,
  ) {
    this.limiter = limiter;
    this.request = request;
    this.mode = mode;
    this.settings = settings;
    this.asking = undefined;
    this.step = undefined;
    this.answer = undefined;
    this.decision = undefined;
    this.settled = undefined;
    this.askedUs = 0;
  }

  skip(): void {
    this.mode = 'off';
    this.leaveOut();
  }

  leaveOut(): void {
    this.step = undefined;
    this.answer = undefined;
    this.decision = undefined;
  }
}

export function mayEnd<Raw>(turn: DecidedTurn<Raw>): boolean {
  return turn.limiter.finish !== undefined || takesHold(turn);
}

export function takesHold<Raw>({ step }: DecidedTurn<Raw>): boolean {
  return step?.lease !== undefined || step?.claim !== undefined;
}

export function needsEnd<Raw>(
  { limiter, answer, decision }: DecidedTurn<Raw>,
  rejected: boolean,
): boolean {
  if (limiter.finish === undefined) return false;
  if (limiter.kind === 'local') return decision.allowed && decision.outcome !== 'skipped';
  if (rejected || !answer?.allowed) return false;
  return !answer.failure || answer.fallbackReceipt !== undefined;
}

export interface Asker<Raw> {
  readonly limiter: Limiter<Raw>;
  readonly context: StepContext;
  /** Until the check has ended. */
  same: SameKey | undefined;
}

/** Determines modes, asks the stored limiters that are not off for steps, and waits for callbacks. */
export class Questions<Raw> {
  private readonly askers: readonly Asker<Raw>[];
  private readonly guardMode: Per<Raw, Mode>;
  private readonly context: StepContext;
  private readonly control: Control | undefined;
  private readonly client: StoreClient;

  constructor(
    askers: readonly Asker<Raw>[],
    guardMode: Per<Raw, Mode> | undefined,
    context: StepContext,
    control: Control | undefined,
    client: StoreClient,
  ) {
    this.askers = askers;
    this.guardMode = guardMode ?? 'enforce';
    this.context = context;
    this.control = control;
    this.client = client;
  }

  beginTurns(request: LimitRequest<Raw>, isExempt: boolean): Turn<Raw>[] {
    const ofGuard = isExempt ? 'off' : this.resolveMode('', this.guardMode, request);
    const { askers } = this;
    return askers.length === 1
      ? [this.turnOf(askers[0] as Asker<Raw>, request, ofGuard)] // most guards have one
      : askers.map((asker) => this.turnOf(asker, request, ofGuard));
  }

  /** Resolves, and never rejects, when all async callbacks have settled or are late; undefined without any. */
  later(
    turns: readonly Turn<Raw>[],
    isExempt: boolean | Promise<boolean>,
  ): Promise<void> | undefined {
    if (typeof isExempt === 'boolean' && !isAsking(turns)) return undefined;
    const asking = turns.map((turn) => turn.asking);
    return Promise.all([isExempt, ...asking]).then(([exempt]) => {
      if (exempt) for (const turn of turns) turn.skip();
    });
  }

  private turnOf(asker: Asker<Raw>, request: LimitRequest<Raw>, ofGuard: Mode): Turn<Raw> {
    const { limiter } = asker;
    if (ofGuard === 'off') return new Turn(limiter, request, 'off', undefined);
    const settings = this.control?.settingsOf(limiter.name);
    const own = this.resolveMode(limiter.name, settings?.mode ?? limiter.mode, request);
    const mode = own === 'off' || ofGuard === 'enforce' ? own : ofGuard;
    const turn = new Turn(limiter, request, mode, settings);
    if (mode !== 'off' && limiter.kind === 'stored') this.askLimiter(turn, limiter, asker);
    return turn;
  }

  private askLimiter(turn: Turn<Raw>, limiter: StoredLimiter<Raw>, asker: Asker<Raw>): void {
    const { context } = asker;
    const { request, mode, settings } = turn;
    try {
      const question = limiter.step(request, mode === 'enforce', context, settings?.limits);
      if (isThenable(question)) turn.asking = this.askLater(turn, limiter, asker, question);
      else this.accept(turn, limiter, asker, question);
    } catch (error) {
      this.failTurn(turn, context, error);
    }
  }

  private async askLater(
    turn: Turn<Raw>,
    limiter: StoredLimiter<Raw>,
    asker: Asker<Raw>,
    later: Promise<Question>,
  ): Promise<void> {
    const { context } = asker;
    const asking = { limiter: limiter.name, request: turn.request, context };
    const asked = await readOption(asking, 'step', () => later.then((question) => ({ question })));
    if (asked === undefined) turn.decision = decisionOnStoreError(limiter, turn.mode, context);
    else this.accept(turn, limiter, asker, asked.question);
  }

  private accept(
    turn: Turn<Raw>,
    limiter: StoredLimiter<Raw>,
    asker: Asker<Raw>,
    question: Question,
  ): void {
    const { context } = asker;
    try {
      if ('outcome' in question) {
        turn.decision = question;
        return;
      }
      const step = question;
      if (asker.same && !asker.same.isLooking(step.key, turn.request)) asker.same = undefined;
      if (step.rule !== limiter.rule) this.client.note(limiter, step.rule);
      const { countedAs = step.limiter } = context;
      turn.step = countedAs === step.limiter ? step : { ...step, limiter: countedAs };
    } catch (error) {
      this.failTurn(turn, context, error);
    }
  }

  private failTurn(turn: Turn<Raw>, context: StepContext, error: unknown): void {
    const { limiter } = turn;
    context.fault({ limiter: limiter.name, source: 'step', error });
    turn.decision = decisionOnStoreError(limiter, turn.mode, context);
  }

  private resolveMode(limiter: string, mode: Per<Raw, Mode>, request: LimitRequest<Raw>): Mode {
    let error: unknown;
    try {
      const own = typeof mode === 'function' ? mode(request) : mode;
      if (own === 'enforce' || own === 'shadow' || own === 'off') return own;
      error = new Junk(limiter === '' ? 'mode of the guard' : `mode of limiter "${limiter}"`, own);
    } catch (thrown) {
      error = thrown;
    }
    this.context.fault({ limiter, source: 'mode', error });
    return 'enforce'; // a mistake must not switch a limit off
  }
}

function isAsking<Raw>(turns: readonly Turn<Raw>[]): boolean {
  for (let i = 0; i < turns.length; i += 1) if (turns[i]?.asking) return true;
  return false;
}

export function isExempt<Raw>(
  request: LimitRequest<Raw>,
  { preflights, skip }: GuardOptions<Raw>,
  context: StepContext,
): boolean | Promise<boolean> {
  if (request.method === 'OPTIONS' && preflights !== 'count' && isPreflight(request)) return true;
  if (!skip) return false;
  const asking = { limiter: '', request, context };
  const verdict: unknown = readOption(asking, 'skip', skip);
  if (!isThenable(verdict)) return isYes(asking, 'skip', verdict);
  return (verdict as Promise<unknown>).then((own) => isYes(asking, 'skip', own));
}

/**
 * Whether an OPTIONS request is a CORS preflight, as the Fetch standard defines it. Preflights pass by default, because
 * a browser doesn't send the real request after a rejected preflight.
 */
function isPreflight(request: LimitRequest): boolean {
  return Boolean(request.header('origin') && request.header('access-control-request-method'));
}

/** Adds to the decision pipeline what HTTP needs: local and custom limiters, and a warning about unknown addresses. */
export class GuardPipeline<Raw> extends Pipeline<Turn<Raw>> {
  private readonly notices: Notices;

  constructor(
    client: StoreClient,
    control: ControlLink | undefined,
    observers: Observers,
    context: StepContext,
    notices: Notices,
  ) {
    super(client, control, observers, context);
    this.notices = notices;
  }

  protected override decideHere(turn: Turn<Raw>): void {
    if (turn.limiter.kind !== 'local') super.decideHere(turn);
    else turn.decision = this.decideLocally(turn.limiter, turn);
  }

  protected override decideByCache(turn: Turn<Raw>, limiter: Decider, step: Step): void {
    if (step.key === UNKNOWN_ADDRESS) this.missAddress(turn);
    super.decideByCache(turn, limiter, step);
  }

  protected override decisionOf(
    limiter: Decider,
    mode: Mode,
    step: Step,
    answer: Answer,
  ): Decision {
    try {
      const decision = decided(limiter.name, limiter.decide(step, answer));
      // A custom limiter may copy the name from its step. Without a store, the step has another name than the limiter.
      return decision.limiter === limiter.name ? decision : { ...decision, limiter: limiter.name };
    } catch (error) {
      this.context.fault({ limiter: limiter.name, source: 'decide', error });
      return decisionOnStoreError(limiter, mode, this.context);
    }
  }

  private decideLocally(limiter: LocalLimiter<Raw>, { mode, request }: Turn<Raw>): Decision {
    const { context } = this;
    let decision: Decision;
    try {
      decision = decided(limiter.name, limiter.decide(request, context));
    } catch (error) {
      context.fault({ limiter: limiter.name, source: 'decide', error });
      return skippedDecision(limiter.name);
    }
    if (decision.allowed || mode === 'enforce') return decision;
    return { ...decision, allowed: true, outcome: 'would-deny' };
  }

  private missAddress({ limiter: { name }, mode, request }: Turn<Raw>): void {
    if (request.missesAddress?.(mode === 'enforce')) return;
    this.notices.tell(
      'SPW_ADDRESS_UNKNOWN',
      `limiter "${name}" counts all callers without a known address as one: give it a key; behind a proxy on a Unix socket, set trustProxy to the number of proxies, such as 1`,
      name,
    );
  }
}

export function decisionOnStoreError(
  limiter: Pick<Decider, 'name' | 'onStoreError'>,
  mode: Mode,
  context: StepContext,
): Decision {
  const denies = (limiter.onStoreError ?? context.onStoreError) === 'deny';
  return {
    ...skippedDecision(limiter.name),
    allowed: mode !== 'enforce' || !denies,
    outcome: 'error',
    reason: denies ? 'store-error' : null,
  };
}

function decided(limiter: string, own: Decision): Decision {
  if (typeof own?.allowed === 'boolean') return own;
  throw new Junk(`decide of limiter "${limiter}"`, own);
}
