import { makeClaimsRule } from '../algorithms/claims.js';
import { decideStep } from '../algorithms/decide.js';
import { mustBe, SpillwayError } from '../base/errors.js';
import { hints } from '../base/hint.js';
import { type HostSignal, isLater, isThenable } from '../base/host.js';
import { Junk } from '../base/junk.js';
import { type Decision, type Mode, skippedDecision } from '../contract/decision.js';
import type {
  ClaimTurn,
  KeepContext,
  Keeper,
  KeeperParts,
  Keeping,
  Settled,
  Settlement,
  StoredExchange,
} from '../contract/keeping.js';
import type { Question, RequestOutcome, StepsBack, StoredLimiter } from '../contract/limiter.js';
import type { LimiterTurn, StepContext } from '../contract/limiter-turn.js';
import type { LimitRequest, Per } from '../contract/request.js';
import type { Answer, ClaimsAnswer, Rule } from '../contract/rule.js';
import type { Claim, Step, Values } from '../contract/store.js';
import { decisionOnStoreError } from '../guard/turn.js';
import { asKey, type CallbackContext, readOption } from '../limits/callbacks.js';
import { checkMode } from '../limits/limiter-options.js';
import { sharedValues } from '../memory/memory-values.js';
import { newOwner } from './claim-note.js';
import { claimOf, rememberClaim } from './claim-of.js';
import { problemOfClaim } from './claim-problems.js';
import { keyIn } from './idempotency-key.js';
import { type IdempotencyOptions, type Settings, settingsOf } from './idempotency-options.js';
import { LateResponses } from './late-responses.js';
import { repeat, WaitingRetries } from './replay.js';
import { type Comparing, type ValueDigest, valueDigest } from './request-fingerprint.js';
import { Run } from './run.js';
import { SeenExchange } from './seen-exchange.js';

/**
 * Runs a request with an `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header-07) once for each caller and key.
 * A retry gets the response of the first request, with `Idempotency-Replayed: true`: the same status and body, the
 * headers that describe the body or a created resource, and those in `keepHeaders`. A replay charges no limit and runs
 * no handler. While the first request is running, a retry gets 409, or waits. The same key with a different request
 * gets 422.
 *
 * Put it into the list of a guard that runs after your authentication. Use the guard of an adapter, because
 * `createGuard` sees no responses. Services that share a store each need a different `name`.
 *
 * If the process dies after the handler took effect but before the response was stored, a retry runs the handler again
 * once the lease has expired. `claimOf` gives handlers a token with which their database can detect that.
 *
 * @throws SpillwayError `SPW_SCOPE_INVALID`, `SPW_NAME_INVALID`, `SPW_OPTION_INVALID`, `SPW_OPTION_UNKNOWN`
 * @example
 * ```ts
 * import { idempotency, rateLimit } from '@spillway/core';
 * import { nodeGuard } from '@spillway/core/node';
 * import type { IncomingMessage } from 'node:http';
 *
 * type Known = IncomingMessage & { account?: string };
 * const account = ({ raw }: { raw: Known }) => raw.account; // what your authentication has found
 * const guard = nodeGuard<Known>([
 *   idempotency({ scope: account }),
 *   rateLimit({ name: 'api', limit: 100, window: '1m', key: account }),
 * ]);
 * ```
 */
export function idempotency<Raw = unknown>(options: IdempotencyOptions<Raw>): StoredLimiter<Raw> {
  return new Idempotency(options);
}

class Idempotency<Raw> implements StoredLimiter<Raw> {
  readonly kind = 'stored';
  readonly name: string;
  readonly named = true;
  readonly mode: Per<Raw, Mode>;
  readonly rule: Rule;
  readonly onStoreError: 'deny' | 'allow';
  readonly keeping: Keeping<Raw>;
  private readonly settings: Settings<Raw>;
  private readonly options: IdempotencyOptions<Raw>;
  private readonly hint: () => number;
  private readonly waiting: WaitingRetries;
  private readonly lates = new LateResponses();
  private readonly runs = new WeakMap<Step, Run<Raw>>();
  private readonly chosen = new WeakMap<Claim, string>();

  constructor(options: IdempotencyOptions<Raw>) {
    const settings = settingsOf(options);
    this.options = options;
    this.settings = settings;
    this.name = settings.name;
    this.mode = checkMode(options.mode);
    this.rule = makeClaimsRule(settings.leaseUs, settings.keepUs);
    this.onStoreError = settings.onStoreError;
    this.hint = hints(options);
    this.waiting = new WaitingRetries(settings.waitUs);
    this.keeping = {
      see: (exchange, holder) => new SeenExchange(exchange, holder),
      keeper: (parts) => new GuardKeeper(parts, this),
    };
  }

  step(
    request: LimitRequest<Raw>,
    binding: boolean,
    context: StepContext,
  ): Question | Promise<Question> {
    const { header, methods, required } = this.settings;
    if (!methods.has(request.method)) return skippedDecision(this.name);
    const value = request.header(header);
    if (value === undefined && !required) return skippedDecision(this.name);
    const id = value === undefined ? undefined : keyIn(value);
    if (id === undefined) return this.reject('key-invalid', binding);
    const asking = { limiter: this.name, request, context };
    const scope = readOption(asking, 'scope', this.options.scope);
    const parts = readOption<Raw, unknown>(asking, 'fingerprint', this.options.fingerprint);
    if (!isThenable(scope) && !isThenable(parts)) {
      return this.stepOf(asking, binding, id, scope, parts);
    }
    return Promise.all([scope, parts]).then((own) => this.stepOf(asking, binding, id, ...own));
  }

  decide(step: Step, answer: Answer): Decision {
    const decision = decideStep(this.name, step, answer, undefined, 'running');
    if (answer.failure || answer.allowed) return decision;
    if ((answer as ClaimsAnswer).state === 'running') {
      return { ...decision, retryAfterMs: this.hint() };
    }
    const outcome = step.binding ? 'replayed' : 'would-replay';
    return { ...decision, outcome, reason: null, retryAfterMs: 0 };
  }

  finish({ step }: LimiterTurn<Raw>, outcome: RequestOutcome): StepsBack {
    if (!step) return undefined;
    const run = this.runs.get(step);
    // No `Run` was created, so no handler has run: free the key.
    return run ? run.finish(outcome) : [{ ...step, op: 'put' }];
  }

  private stepOf(
    asking: CallbackContext<Raw> & { readonly context: StepContext },
    binding: boolean,
    id: string,
    scope: string | undefined,
    parts: unknown,
  ): Question | Promise<Question> {
    const key = asKey(scope);
    if (key === undefined) {
      const error = new SpillwayError(
        'SPW_SCOPE_INVALID',
        'scope returned no caller for a request with an idempotency key: return a string of 1 to 8,192 UTF-16 units',
      );
      asking.context.fault({ limiter: this.name, source: 'scope', error });
      return this.reject('store-error', binding);
    }
    const claim = { id, owner: newOwner() };
    const step: Step = {
      op: 'take',
      limiter: asking.context.countedAs ?? this.name,
      key,
      rule: this.rule,
      cost: 1,
      binding,
      claim,
      onStoreError: this.onStoreError,
    };
    if (parts === undefined) return step;
    const noteDigest = ({ digest, error: why }: ValueDigest): Step => {
      const error = why ?? new Junk(`fingerprint of limiter "${this.name}"`, parts);
      if (digest !== undefined) this.chosen.set(claim, digest);
      else asking.context.fault({ limiter: this.name, source: 'fingerprint', error });
      return step;
    };
    const digested = valueDigest(parts);
    return isLater(digested) ? digested.then(noteDigest) : noteDigest(digested);
  }

  private reject(reason: 'key-invalid' | 'store-error', binding: boolean): Decision {
    const isKey = reason === 'key-invalid';
    const passes = !isKey && this.onStoreError === 'allow';
    const rejected = binding ? 'denied' : 'would-deny';
    return {
      ...skippedDecision(this.name),
      allowed: passes || !binding,
      outcome: isKey ? rejected : 'error',
      reason: passes ? null : reason,
      retryAfterMs: isKey ? Infinity : Number.NaN,
    };
  }

  /** Decides on a request that was rejected only because of its claim. */
  settleClaim(
    turn: LimiterTurn<Raw>,
    exchange: StoredExchange,
    context: KeepContext,
  ): Settlement | Promise<Settlement> {
    const step = turn.step as Step;
    if (claimOf(exchange.holder)?.token === (turn.answer as ClaimsAnswer).owner) return 'own';
    const own = this.chosen.get(step.claim as Claim);
    if (turn.decision.outcome === 'replayed') {
      return repeat(turn, exchange, context, this.settings, own, this.comparing(context));
    }
    const running = { decision: turn.decision };
    if (this.settings.waitUs === 0) return running;
    return this.waiting
      .wait(step, exchange, context)
      .then((isOver) => (isOver ? 'again' : running));
  }

  private comparing(context: KeepContext): Comparing {
    return {
      comparesHost: this.settings.comparesHost,
      incomparable: (error) => context.fault({ limiter: this.name, source: 'fingerprint', error }),
    };
  }

  /** Called before the handler runs under the claim of `turn`. If this returns a promise, the handler waits for it. */
  beginRun(
    turn: LimiterTurn<Raw>,
    exchange: StoredExchange,
    context: KeepContext,
    askedUs: number,
  ): Promise<void> | undefined {
    const step = turn.step as Step;
    const { id, owner } = step.claim as Claim;
    const own = this.chosen.get(step.claim as Claim);
    const run = new Run(turn, exchange, context, this.settings, this.lates, askedUs);
    this.runs.set(step, run);
    this.waiting.noteRun(step, run.over);
    try {
      return run.watchExchange(own, this.comparing(context));
    } finally {
      const signal = run.signal as HostSignal;
      rememberClaim(exchange.holder, { token: owner, key: id, signal });
    }
  }
}

/** The part of a guard that handles claims and stored responses. */
class GuardKeeper<Raw> implements Keeper<Raw> {
  readonly problemOf: typeof problemOfClaim = problemOfClaim;
  private readonly context: KeepContext;
  private readonly owner: Idempotency<Raw>;

  constructor(
    { context, client, releases, storeTimeoutMs, others }: KeeperParts,
    owner: Idempotency<Raw>,
  ) {
    if (others.length > 0) {
      throw new SpillwayError(
        'SPW_LIMITER_INVALID',
        'a guard has more than one idempotency(): remove the others',
      );
    }
    this.owner = owner;
    this.context = {
      ...context,
      clock: client.clock,
      values: valuesOf(client),
      storeTimeoutMs,
      ask: (step) => client.link.ask([step], ([answer]) => answer as Answer),
      whenLost: (step, askedUs, lost) => releases.permitsOf(step).whenLost(step, askedUs, lost),
      abandon: (step) => releases.permitsOf(step).abandon(step),
      writeLater: (last, value) => releases.permitsOf(last).writeLater(last, value),
      end: (step, last) => releases.giveBack([releases.permitsOf(step).release(step, last)]),
    };
  }

  rejecting<Turn extends ClaimTurn<Raw>>(turns: readonly Turn[]): Turn | undefined {
    const rejections = turns.filter(({ decision }) => decision && !decision.allowed);
    const [turn] = rejections;
    const isClaim = turn?.limiter.keeping && turn.step?.claim && turn.decision?.outcome !== 'error';
    return rejections.length === 1 && isClaim ? turn : undefined;
  }

  settle(turn: ClaimTurn<Raw>, exchange: StoredExchange): Settlement | Promise<Settlement> {
    const rejectOnFault = (error: unknown): Settled => {
      this.context.fault({ limiter: turn.limiter.name, source: 'decide', error });
      const broken = decisionOnStoreError(turn.limiter, turn.mode, this.context);
      return { decision: { ...broken, allowed: false, reason: 'store-error' } };
    };
    try {
      const settled = this.owner.settleClaim(turn as LimiterTurn<Raw>, exchange, this.context);
      return isLater(settled) ? settled.catch(rejectOnFault) : settled;
    } catch (error) {
      return rejectOnFault(error);
    }
  }

  begin(turns: readonly ClaimTurn<Raw>[], exchange: StoredExchange): Promise<void> | undefined {
    const turn = turns.find(({ limiter, step }) => limiter.keeping && step?.claim);
    const { answer } = turn ?? {};
    // In shadow mode, another request may have the claim.
    if (!turn || !(answer?.allowed || answer?.failure)) return undefined;
    const reportFault = (error: unknown): void =>
      this.context.fault({ limiter: turn.limiter.name, source: 'adapter', error });
    try {
      return this.owner
        .beginRun(turn as LimiterTurn<Raw>, exchange, this.context, turn.askedUs)
        ?.catch(reportFault);
    } catch (error) {
      reportFault(error);
      return undefined;
    }
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
