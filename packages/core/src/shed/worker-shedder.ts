import { checkFlag, checkOptions } from '../base/check-shapes.js';
import { checkClock, checkName } from '../base/checks.js';
import { type Clock, systemClock } from '../base/clock.js';
import { mustBe, SpillwayError } from '../base/errors.js';
import { type HintOptions, hints, randomOf } from '../base/hint.js';
import { checkNames, type NamesOf } from '../base/option-names.js';
import type { Decision, Mode } from '../contract/decision.js';
import type { LocalLimiter } from '../contract/limiter.js';
import type { StepContext } from '../contract/limiter-turn.js';
import type { LimitRequest, Per } from '../contract/request.js';
import { checkMode } from '../limits/limiter-options.js';
import {
  advanceController,
  type ControllerState,
  holds,
  Mix,
  restingController,
  TICK_US,
} from './brake.js';
import {
  advanceLadder,
  LADDER_MEASURE_PERIOD_US,
  type LadderState,
  ladderProbability,
  restingLadder,
  shedAmountOf,
} from './ladder.js';
import { type Reading, type Signal, SignalLoop } from './load-signal.js';
import { type Priority, Ranking } from './priority.js';

/**
 * The load signals of an event loop, such as `eventLoopSignal()` of `@spillway/core/node`: the utilization for the
 * ladder and, in `wait`, the signal for the brake.
 */
export interface LoopSignal extends Signal {
  /** The event loop delay; value 1 is the target. */
  readonly wait?: Signal | undefined;
}

/** Options of {@link workerShedder}. */
export interface WorkerShedderOptions<Raw = unknown> extends HintOptions {
  /** Name in problem bodies and metrics: 1 to 64 printable ASCII characters. */
  readonly name: string;
  /** The ladder's signal; its `wait` is the brake's signal. `eventLoopSignal()` has both. */
  readonly signal?: LoopSignal | undefined;
  /** A separate signal for the ladder, or false for no ladder. Default: `signal`. */
  readonly ladder?: { readonly signal: Signal } | false | undefined;
  /** A separate signal for the brake, or false for no brake. Default: `signal.wait`. */
  readonly brake?: { readonly signal: Signal } | false | undefined;
  /**
   * The classes of requests and how to assign them. Default: GET, HEAD and OPTIONS are `get`, all other methods are
   * `post`.
   */
  readonly priority?: Priority<Raw> | undefined;
  /** Whether critical requests are shed too, after all others. Default false. */
  readonly shedCritical?: boolean | undefined;
  /** `enforce` (default), `shadow` (counts, rejects nobody) or `off` (kill switch). */
  readonly mode?: Per<Raw, Mode> | undefined;
  /** Source of time, for tests. Default: the process's monotonic clock. */
  readonly clock?: Clock | undefined;
}

const WORKER_OPTIONS: NamesOf<WorkerShedderOptions> = {
  name: 1,
  signal: 1,
  ladder: 1,
  brake: 1,
  priority: 1,
  shedCritical: 1,
  mode: 1,
  clock: 1,
  retryAfter: 1,
  random: 1,
};

/** A shedder with its gauges. */
export interface WorkerShedder<Raw = unknown> extends LocalLimiter<Raw> {
  decide(request: LimitRequest<Raw>, context?: StepContext): Decision;
  /** The share of the classes that the ladder sheds: 0 is none, 1 is every class that may be shed. */
  readonly shedAmount: number;
  /** The fraction of all requests that the brake aims to reject, 0 to 0.97. */
  readonly brakeFraction: number;
}

/**
 * Rejects requests with 503 when this process is overloaded, the least important class first. It uses no store and no
 * I/O, and has two loops. The brake holds the event loop delay at its target and reacts within a second. The ladder
 * sheds class after class during a long overload that the brake cannot hold (Stripe's worker utilization load shedder:
 * P. Tarjan, "Scaling your API with rate limiters", 2017).
 *
 * @throws SpillwayError `SPW_NAME_INVALID`, `SPW_OPTION_INVALID`, `SPW_OPTION_UNKNOWN`
 * @example
 * ```ts
 * import { createGuard, rateLimit, workerShedder } from '@spillway/core';
 * import { eventLoopSignal } from '@spillway/core/node';
 *
 * const guard = createGuard([
 *   workerShedder<{ user?: { plan: string } }>({
 *     name: 'workers',
 *     signal: eventLoopSignal(),
 *     priority: ({ raw }) => (raw.user?.plan === 'paid' ? 'critical' : undefined),
 *   }),
 *   rateLimit({ name: 'per-address', limit: 100, window: '1m' }),
 * ]);
 * ```
 */
export function workerShedder<Raw = unknown>(
  options: WorkerShedderOptions<Raw>,
): WorkerShedder<Raw> {
  return new TwoLoopShedder(options);
}

class TwoLoopShedder<Raw> implements WorkerShedder<Raw> {
  readonly kind = 'local';
  readonly name: string;
  readonly mode: Per<Raw, Mode>;
  private readonly ranking: Ranking<Raw>;
  private readonly ladder: SignalLoop<LadderState> | undefined;
  private readonly brake: SignalLoop<ControllerState> | undefined;
  private readonly loops: readonly { fault: unknown }[];
  private readonly mix: Mix;
  private readonly firstUnsheddableRank: number;
  private readonly clock: Clock;
  private readonly random: () => number;
  private readonly hint: () => number;
  private readonly passed: readonly Decision[];

  constructor(options: WorkerShedderOptions<Raw>) {
    checkOptions(options, 'workerShedder()', WORKER_OPTIONS);
    const { clock = systemClock } = options;
    this.name = checkName(options.name);
    this.mode = checkMode(options.mode);
    checkFlag('shedCritical', options.shedCritical);
    checkClock(options.clock);
    this.hint = hints(options);
    this.ranking = new Ranking(options.priority);
    const classes = this.ranking.classes.length;
    this.firstUnsheddableRank = options.shedCritical ? classes : classes - 1;
    this.mix = new Mix(classes);
    this.clock = clock;
    this.random = randomOf(options);
    this.passed = this.ranking.names.map((_, rank) => Object.freeze(this.newDecision(rank)));
    const { ladder, brake, areOne } = signalsOf(options);
    const brakeLoop =
      brake && new SignalLoop(brake, clock, TICK_US, restingController, advanceController);
    this.brake = brakeLoop;
    // The ladder doesn't rise while the brake holds the event loop at its target, because the ladder would take the
    // busy loop for overload. At twice the capacity of 317 requests a second, a worker served 223 after ten minutes
    // without this rule, and 286 with it.
    const climb = (state: LadderState, reading: Reading | undefined, nowUs: number): LadderState =>
      advanceLadder(
        state,
        reading,
        nowUs,
        !(areOne && brakeLoop && holds(brakeLoop.peek(nowUs), nowUs)),
      );
    this.ladder =
      ladder && new SignalLoop(ladder, clock, LADDER_MEASURE_PERIOD_US, restingLadder, climb);
    this.loops = [this.ladder, this.brake].filter((loop) => loop !== undefined);
  }

  get shedAmount(): number {
    return this.ladder ? shedAmountOf(this.ladder.peek(this.clock.nowUs())) : 0;
  }

  get brakeFraction(): number {
    return this.brake?.peek(this.clock.nowUs()).fraction ?? 0;
  }

  decide(request: LimitRequest<Raw>, context?: StepContext): Decision {
    const nowUs = this.clock.nowUs();
    const ladder = this.ladder?.at(nowUs);
    const fraction = this.brake?.at(nowUs).fraction ?? 0;
    if (context) this.tellFaults(context);
    const rank = this.ranking.rankOf(request, (error) =>
      context?.fault({ limiter: this.name, source: 'priority', error }),
    );
    if (this.brake) this.mix.countRequest(rank, nowUs);
    if (rank >= this.firstUnsheddableRank) return this.decision(rank, undefined);
    const slow = ladder
      ? ladderProbability(shedAmountOf(ladder), rank, this.firstUnsheddableRank)
      : 0;
    const fast = fraction > 0 ? this.mix.probability(fraction, rank) : 0;
    if (slow === 0 && fast === 0) return this.decision(rank, undefined);
    // One random number for both loops, because the brake's fraction includes the requests that the ladder rejects.
    const drawn = this.random();
    if (drawn < slow) return this.decision(rank, this.ladder?.signal);
    return this.decision(rank, drawn < fast ? this.brake?.signal : undefined);
  }

  private tellFaults(context: StepContext): void {
    for (const loop of this.loops) {
      const error = loop.fault;
      if (error === undefined) continue;
      loop.fault = undefined;
      context.fault({ limiter: this.name, source: 'signal', error });
    }
  }

  private decision(rank: number, rejectedBy: Signal | undefined): Decision {
    return rejectedBy ? this.newDecision(rank, rejectedBy) : (this.passed[rank] as Decision);
  }

  private newDecision(rank: number, rejectedBy?: Signal): Decision {
    return {
      limiter: this.name,
      allowed: !rejectedBy,
      outcome: rejectedBy ? 'denied' : 'allowed',
      reason: rejectedBy ? 'overload' : null,
      cost: 1,
      used: Number.NaN,
      remaining: Number.NaN,
      retryAfterMs: rejectedBy ? this.hint() : 0,
      resetMs: Number.NaN,
      ...(rejectedBy && { signal: rejectedBy.name }),
      priority: this.ranking.names[rank],
    };
  }
}

interface Signals {
  readonly ladder: Signal | undefined;
  readonly brake: Signal | undefined;
  /** Whether the brake reads the `wait` of the ladder's signal. */
  readonly areOne: boolean;
}

function signalsOf<Raw>(options: WorkerShedderOptions<Raw>): Signals {
  const { signal, ladder, brake } = options;
  if (signal === undefined && ladder === undefined && brake === undefined) {
    throw mustBe('signal', 'given, as in signal: eventLoopSignal()', signal);
  }
  const signals = {
    ladder: chosen('ladder', ladder, signal, 'signal: eventLoopSignal()'),
    brake: chosen('brake', brake, signal?.wait, 'brake: { signal: eventLoopWaitSignal() }'),
  };
  if (!signals.ladder && !signals.brake) {
    throw new SpillwayError(
      'SPW_OPTION_INVALID',
      'ladder and brake must not both be false: such a shedder sheds nothing',
    );
  }
  const waitOfLadder = (signals.ladder as LoopSignal | undefined)?.wait;
  return { ...signals, areOne: !!signals.brake && signals.brake === waitOfLadder };
}

function chosen(
  option: string,
  own: { readonly signal: Signal } | false | undefined,
  shared: Signal | undefined,
  example: string,
): Signal | undefined {
  if (own === false) return undefined;
  if (own) checkNames(option, own, { signal: 1 });
  const signal = own === undefined ? shared : own?.signal;
  if (signal === undefined || signal === null) {
    throw mustBe(option, `false, or have a signal as in ${example}`, signal);
  }
  if (typeof signal.read !== 'function' || typeof signal.name !== 'string') {
    throw mustBe(`signal of the ${option}`, 'an object with a name and read()', signal);
  }
  return signal;
}
