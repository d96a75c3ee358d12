/** The one way to a store for whoever has limits in it: guards, and limits without HTTP. */

import { checkClock } from '../base/checks.js';
import { type Clock, systemClock } from '../base/clock.js';
import { type Eventually, isLater } from '../base/host.js';
import type { Turns } from '../base/turns.js';
import type { Answer } from '../contract/answer.js';
import type { Validate } from '../contract/notice.js';
import type { Rule } from '../contract/rule.js';
import type { ApplyOptions, Step, Store } from '../contract/store.js';
import { type OneStepStore, oneStepStore } from '../memory/memory-store.js';
import { type SharedMemory, sharedMemory } from '../memory/shared-memory.js';
import type { Observers } from '../observe/observers.js';
import { checkStore } from './check-store.js';
import type { Fallback } from './fallback.js';
import type { Host } from './probe.js';
import type { Refusals } from './refusals.js';
import { type Room, type SharedState, sharedState } from './shared-state.js';
import { type Policies, type ResilienceOptions, resilient } from './stack.js';

export interface StoreClientOptions extends ResilienceOptions {
  /** Where counts live. Default: this process's memory, where each limiter object counts apart. */
  readonly store?: Store | undefined;
  /**
   * Source of time of this process: for counts where no store is given, and for what is known of a store, such as its
   * outages and its refusals. A store decides by a clock of its own. Default the process's monotonic clock. The first
   * to use a store sets it for all.
   */
  readonly clock?: Clock | undefined;
  /**
   * Whether a key that was refused is refused again, until the moment it was promised, without asking a store that
   * answers later. What this process gives back through the same store object is noticed at once, refunds and resets by
   * others within a minute. Default true.
   */
  readonly denialCache?: boolean | undefined;
  /**
   * Which lines about probable mistakes go to `logger`, each once: all (`true`, default), none (`false`), or all but
   * some, as in `{ SPW_WINDOW_SHORT: false }`. What is thrown is thrown all the same.
   */
  readonly validate?: Validate | undefined;
}

type Answers = readonly Answer[];
type Named = { readonly name: string };

/** Its answers are never missing: it neither throws nor rejects, for a store that fails is answered for by policy. */
export class StoreClient {
  /** Whether every answer comes at once. */
  readonly sync: boolean;
  /** What permits, and all else that counts time beside the store, go by. */
  readonly clock: Clock;
  /** Whether the store is in our own memory and decides by {@link clock}. */
  readonly hasOurTime: boolean;
  /** The room that users of the store share for releases that did not reach it. */
  readonly releaseRoom: Room;
  /** Its users ask through this client; what they learn of the store itself, they keep. */
  readonly store: Store;
  private readonly answering: Fallback;
  private readonly memory: SharedMemory | undefined;
  private readonly oneStep: OneStepStore | undefined;
  private readonly firstApply: Store['apply'];
  private readonly shared: SharedState;
  private readonly refusals: Refusals | undefined;
  private readonly findsRefusals: boolean;

  /**
   * @param observers told of calls of the store and of its outages
   * @param policies for the line in the log that tells of an outage
   * @throws SpillwayError `SPW_STORE_INVALID`, `SPW_OPTION_INVALID`
   */
  constructor(options: StoreClientOptions, observers: Observers | undefined, policies: Policies) {
    const { clock } = options;
    checkClock(clock);
    this.memory = options.store ? undefined : sharedMemory(clock);
    this.store = options.store ? checkStore(options.store) : (this.memory as SharedMemory).store;
    this.oneStep = oneStepStore(this.store);
    this.firstApply = this.store.apply;
    this.shared = sharedState(this.store, clock);
    this.answering = resilient(this.store, this.shared, options, observers, policies);
    this.refusals = this.shared.refusals;
    this.findsRefusals = options.denialCache !== false;
    this.sync = this.store.sync;
    this.clock = this.shared.clock;
    this.hasOurTime = this.oneStep?.clock === this.clock;
    this.releaseRoom = this.shared.releaseRoom;
    observers?.store(this.store);
  }

  /** What stands for a limiter in the store: its name, or without a store a text that no other object has. */
  nameOf(limiter: Named): string {
    return this.memory ? this.memory.nameOf(limiter) : limiter.name;
  }

  /** How many limiters were made without a store, this one among them; 0 if this one has a store. */
  get withoutStore(): number {
    return this.memory?.limiters ?? 0;
  }

  /**
   * To be called for each limiter before its first step.
   *
   * @throws SpillwayError `SPW_NAME_CONFLICT` if its name stands for other numbers in this store
   */
  claim(limiter: Named, rule: Rule): void {
    this.shared.names.claim(this.nameOf(limiter), rule);
  }

  /** To be called before a step whose rule a function or a live change made: perhaps it is another count. */
  note(limiter: Named & { readonly rule: Rule }, rule: Rule): void {
    if (rule.code !== limiter.rule.code) this.store.register?.(this.nameOf(limiter), rule);
  }

  /** The answer to a step that is sure to be refused; undefined if the store must be asked. */
  known(step: Step): Answer | undefined {
    return this.findsRefusals ? this.refusals?.find(step) : undefined;
  }

  /** For promises that may be settled already. */
  get turns(): Turns {
    return this.shared.turns;
  }

  /** A promise of what is known without the store, which lets the event loop turn now and then. */
  soon<Value>(value: Value): Promise<Value> {
    return this.turns.soon(value);
  }

  /** {@link ask} for one step of a memory store, with fewer objects; undefined where the store must be asked. */
  askNow(step: Step): Answer | undefined {
    const { oneStep } = this;
    // Somebody may have replaced `apply` meanwhile, as a spy of a test does.
    if (oneStep === undefined || oneStep.apply !== this.firstApply) return undefined;
    try {
      return oneStep.applyOne(step);
    } catch {
      return undefined;
    }
  }

  /**
   * What `then` makes of the answers.
   *
   * @param host of the request that asks: keeps alive what outlives it
   */
  ask<Value>(
    steps: readonly Step[],
    then: (answers: Answers) => Eventually<Value>,
    host?: Host,
  ): Eventually<Value> {
    const { refusals } = this;
    if (!refusals) return this.answering.ask(steps, then);
    const askedUs = refusals.now();
    const learn = (answers: Answers) => then(learnt(refusals, steps, answers, askedUs));
    return this.inTurns(this.answering.ask(steps, learn, undefined, host), steps);
  }

  /**
   * {@link ask} for steps that give back, `put` and `reset`. What they free may not be refused from memory: neither
   * while the store does them, nor by an answer that was on its way meanwhile.
   *
   * @param forUs if given: how long the store has; no request waits for it, and its failure is no outage
   */
  giveBack<Value>(
    steps: readonly Step[],
    then: (answers: Answers) => Eventually<Value>,
    forUs?: number,
  ): Eventually<Value> {
    this.forget(steps);
    const forgetAgain = (answers: Answers) => {
      this.forget(steps);
      return then(answers);
    };
    const answered = this.answering.ask(steps, forgetAgain, background(forUs));
    return forUs === undefined ? this.inTurns(answered, steps) : answered;
  }

  /** Renews permits: no request waits for it, and its failure is no outage. `forUs`: how long the store has. */
  renew(steps: readonly Step[], forUs: number): Eventually<Answers> {
    return this.answering.ask(steps, (answers) => answers, background(forUs));
  }

  /** Something was changed live: no remembered refusal may hold any more. */
  forgetAll(): void {
    this.refusals?.clear();
  }

  /** A key was reset elsewhere, and the store knows: so must what counts for it when it fails. */
  forgetReset(limiter: string, key: string): void {
    this.shared.standIn.forget(limiter, key);
  }

  /** A store that fails, or answers by itself, may do so without input or output. */
  private inTurns<Value>(
    answered: Eventually<Value>,
    { length }: readonly Step[],
  ): Eventually<Value> {
    return isLater(answered) ? this.turns.after(answered, length) : answered;
  }

  private forget(steps: readonly Step[]): void {
    if (!this.refusals) return;
    // Of permits and claims no refusal is remembered.
    for (const step of steps) if (!step.lease && !step.claim) this.refusals.forget(step);
  }
}

function learnt(
  refusals: Refusals,
  steps: readonly Step[],
  answers: Answers,
  askedUs: number,
): Answers {
  try {
    for (const [i, step] of steps.entries()) refusals.learn(step, answers[i] as Answer, askedUs);
  } catch {
    // A rule that nobody can measure, of a limiter that is not ours: its own `decide` meets it next.
  }
  return answers;
}

/** The deadline is on the process's own clock, whatever clock is set: by it stores tell what is too late. */
function background(forUs: number | undefined): ApplyOptions | undefined {
  if (forUs === undefined) return undefined;
  return { deadlineUs: systemClock.nowUs() + forUs, background: true };
}
