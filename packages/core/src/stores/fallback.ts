/** Store decorator: when the store cannot answer, each step's own policy does. */

import { systemClock } from '../base/clock.js';
import { isLater } from '../base/host.js';
import type { Answer } from '../contract/answer.js';
import { timeoutOf } from '../contract/group-size.js';
import type { ApplyOptions, Step, Store } from '../contract/store.js';
import { askParts } from './ask-parts.js';
import type { Breaker } from './breaker.js';
import { domainOf } from './domain.js';
import { asLook, branchesOf, type Part, partsOf, place, refuses } from './parts.js';
import type { Host } from './probe.js';
import type { StandIn } from './stand-in.js';

/** A store that always answers. */
export interface AnsweringStore extends Store {
  /** @param host of the request that asks: keeps alive what outlives it */
  apply(
    steps: readonly Step[],
    options?: ApplyOptions,
    host?: Host,
  ): readonly Answer[] | Promise<readonly Answer[]>;
}

/** What is known of the store behind all decorators. */
interface Origin {
  /** Itself: it says on which of its parts a step depends. */
  readonly store?: Store;
  /** Says which parts need not be asked. */
  readonly breaker?: Breaker;
  /** How long a request waits for a step, in microseconds, before and while it is asked. */
  readonly timeoutUs?: number;
}

/**
 * Answers by {@link Step.onStoreError} where the store throws or rejects, and says so in `failure`. Where that is a
 * rule, the stand-in decides, by what it has counted. It follows a store that answers later; one that answers at once
 * lives in this process itself. Other decorators may stand before `store`; `origin` is the store itself.
 */
export function withFallback(store: Store, standIn: StandIn, origin: Origin = {}): AnsweringStore {
  return new FallbackStore(store, standIn, origin);
}

class FallbackStore implements AnsweringStore {
  readonly sync: boolean;
  private readonly store: Store;
  private readonly standIn: StandIn;
  private readonly origin: Origin;

  constructor(store: Store, standIn: StandIn, origin: Origin) {
    this.store = store;
    this.standIn = standIn;
    this.origin = origin;
    this.sync = store.sync;
  }

  apply(
    steps: readonly Step[],
    options?: ApplyOptions,
    host?: Host,
  ): ReturnType<AnsweringStore['apply']> {
    if (!this.sync) this.standIn.release(steps);
    const parts = this.parts(steps);
    if (parts) return this.askAcross(parts, steps, options, host);
    const barred = this.bar(steps, options, host);
    if (!barred) return this.ask(steps, options);
    if (!isLater(barred)) return Promise.resolve(this.answerFor(steps, barred));
    const within = this.within(steps, options);
    return barred.then((error) => (error ? this.answerFor(steps, error) : this.ask(steps, within)));
  }

  /** What a request has waited before it asks is part of its time. */
  private within(steps: readonly Step[], options: ApplyOptions | undefined): ApplyOptions {
    const { timeoutUs = Infinity } = this.origin;
    const latestUs = systemClock.nowUs() + timeoutOf(steps.length, timeoutUs);
    return { ...options, deadlineUs: Math.min(latestUs, options?.deadlineUs ?? Infinity) };
  }

  private ask(steps: readonly Step[], options?: ApplyOptions): ReturnType<Store['apply']> {
    let answers: ReturnType<Store['apply']>;
    try {
      answers = this.store.apply(steps, options);
    } catch (error) {
      return this.answerFor(steps, error);
    }
    if (!isLater(answers)) return answers;
    return answers.then(
      (value) => this.standIn.follow(steps, value),
      (error: unknown) => this.answerFor(steps, error),
    );
  }

  /** The parts that a group is spread over; undefined if it is one. Steps of one key are always in one. */
  private parts(steps: readonly Step[]): readonly Part<string>[] | undefined {
    const { store } = this.origin;
    if (!store?.domainOf || steps.every(({ key }) => key === steps[0]?.key)) return undefined;
    const parts = partsOf(steps, (step) => domainOf(store, step));
    return parts.length > 1 ? parts : undefined;
  }

  /** Why a group, all in one part, need not be asked. */
  private bar(
    steps: readonly Step[],
    options: ApplyOptions | undefined,
    host: Host | undefined,
  ): ReturnType<Breaker['bar']> {
    const { breaker } = this.origin;
    if (!breaker || steps.length === 0) return undefined;
    return breaker.bar(steps[0] as Step, host, options?.background);
  }

  /**
   * Parts that are not asked, or fail, are answered for by policy. Those that are known not to answer come first: if a
   * policy refuses, the others are only looked at. In a group with branches it may refuse one branch only, so it is
   * asked with that branch. The stand-in is charged last, if all pass.
   */
  private async askAcross(
    parts: readonly Part<string>[],
    steps: readonly Step[],
    options: ApplyOptions | undefined,
    host: Host | undefined,
  ): Promise<readonly Answer[]> {
    let within = options?.background ? options : this.within(steps, options);
    const barred = await Promise.all(parts.map((part) => this.bar(part.steps, options, host)));
    const down = parts.filter((_, i) => barred[i]);
    if (down.length === parts.length) return this.answerFor(steps, barred[0]);
    const standInFor = (own: readonly Step[], error: unknown) =>
      this.standIn.answer(own, error, false);
    const errors = new Map(parts.map(({ name }, i) => [name, barred[i]]));
    const ask = (own: readonly Step[], name: string, always: boolean) => {
      const error = errors.get(name);
      if (error) throw error;
      return this.store.apply(own, always ? undefined : within);
    };
    if (branchesOf(steps).length > 0) {
      const askInTurn: typeof ask = async (...asked) => {
        try {
          return await ask(...asked);
        } catch (error) {
          // Branches are asked one after another: one that took all the time must leave some for the next.
          if (!options?.background) within = this.within(steps, options);
          throw error;
        }
      };
      return this.standIn.follow(steps, await askParts(parts, askInTurn, standInFor));
    }
    const answersOfDown: Answer[] = [];
    for (const [i, part] of parts.entries()) {
      if (barred[i]) place(part, standInFor(part.steps, barred[i]), answersOfDown);
    }
    const refused = down.some((part) =>
      refuses(
        part.steps,
        part.places.map((at) => answersOfDown[at] as Answer),
      ),
    );
    const up = parts.filter((_, i) => !barred[i]);
    // A group that is refused anyway takes nothing.
    const answers = await askParts(refused ? up.map(asLook) : up, ask, standInFor);
    const all = steps.map((_, at) => (answers[at] ?? answersOfDown[at]) as Answer);
    return this.standIn.follow(steps, all);
  }

  private answerFor(steps: readonly Step[], error: unknown): readonly Answer[] {
    return this.standIn.answer(steps, error, true);
  }
}
