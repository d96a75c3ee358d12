/** What a request gets whose key is claimed already: it may wait for the run, then the kept answer or a rejection. */

import { after, endsTimersWithRequests, isThenable } from '../base/host.js';
import { inTime, type Result } from '../base/within.js';
import type { ClaimsAnswer } from '../contract/ask.js';
import type { Decision, Reason } from '../contract/decision.js';
import type { KeepContext, KeptExchange, Settled } from '../contract/keeping.js';
import type { LimiterTurn } from '../contract/limiter-turn.js';
import type { Header } from '../contract/request.js';
import type { Claim, Step } from '../contract/store.js';
import { noteIn } from './claim-note.js';
import type { Settings } from './idempotency-options.js';
import { type AnswerRecord, decodeRecord } from './kept-answer.js';
import { type Comparing, compareRequests } from './request-fingerprint.js';

const REPLAYED: Header = ['Idempotency-Replayed', 'true'];

/** @param own the digest of the parts that the app chose */
export async function repeat<Raw>(
  turn: LimiterTurn<Raw>,
  exchange: KeptExchange,
  context: KeepContext,
  settings: Settings<Raw>,
  own: string | undefined,
  comparing: Comparing,
): Promise<Settled> {
  const { request, decision } = turn;
  const answer = turn.answer as ClaimsAnswer;
  const note = noteIn(answer.note);
  if (!note) return refused(decision, 'not-kept');
  const compared = await compareRequests(note, request, exchange.recorder, own, comparing);
  if (compared !== 'same') {
    const statuses = { other: settings.mismatchStatus, 'too-large': 413, late: 408 };
    return refused(decision, 'mismatch', statuses[compared]);
  }
  const { limiter, key } = turn.step as Step;
  const name = { limiter, key, id: answer.owner };
  const asked = inTime(context.storeTimeoutMs, (deadlineUs) =>
    context.values.get(name, { deadlineUs }),
  );
  const found: Result<Uint8Array | undefined> = isThenable(asked) ? await asked : asked;
  if ('error' in found) {
    context.fault({ limiter: settings.name, source: 'store', error: found.error });
    return unanswered(decision);
  }
  return answered(decision, found.value && decodeRecord(found.value));
}

function answered(decision: Decision, record: AnswerRecord | undefined): Settled {
  if (!record) return refused(decision, 'not-kept');
  const { status, fields, body } = record;
  if (body) return { decision, answer: { status, headers: [...fields, REPLAYED], body } };
  const places = fields.filter(([name]) => name === 'Location');
  return { ...refused(decision, 'not-kept'), headers: places };
}

function refused(decision: Decision, reason: Reason, status?: number): Settled {
  return {
    decision: { ...decision, outcome: 'denied', reason, status, retryAfterMs: Infinity },
  };
}

/** It was done, so it must not run again: the repeat is to come later, whatever `onStoreError` says. */
function unanswered(decision: Decision): Settled {
  return {
    decision: { ...decision, outcome: 'error', reason: 'store-error', retryAfterMs: Number.NaN },
  };
}

/** How often the store is asked: less and less. */
const FIRST_MS = 50;
const LAST_MS = 500;

/** After the answer was kept in this process: the store is about to know it. */
const SOON_MS = 10;

/** So many repeats of one key wait in a process. A client that retries has one or two. */
const MOST_WAITING = 32;

/** The runs of this process, by their claims, and those who wait for one. */
/** Repeats that wait for the request that is running. */
export class WaitingRepeats {
  private readonly running = new Map<string, Promise<void>>();
  /** Until when each claim is waited for, in microseconds. */
  private readonly untilUs = new WeakMap<Claim, number>();
  /** Of each guard, because each may have another store. */
  private readonly waits = new WeakMap<KeepContext, Map<string, Crowd>>();
  private readonly waitUs: number;

  constructor(waitUs: number) {
    this.waitUs = waitUs;
  }

  /** A run has begun, which settles `over`. */
  note(step: Step, over: Promise<void>): void {
    if (this.waitUs === 0) return;
    const name = nameOf(step);
    this.running.set(name, over);
    void over.then(() => {
      if (this.running.get(name) === over) this.running.delete(name);
    });
  }

  /** Whether the claim is worth asking for again; false if it still runs when the wait is over, or too many wait. */
  async wait(step: Step, exchange: KeptExchange, context: KeepContext): Promise<boolean> {
    const claim = step.claim as Claim;
    const { clock } = context;
    const untilUs = this.untilUs.get(claim) ?? clock.nowUs() + this.waitUs;
    this.untilUs.set(claim, untilUs);
    if (untilUs <= clock.nowUs() || exchange.isGone()) return false;
    const waits = this.waitsOf(context);
    const name = nameOf(step);
    const crowd = waits.get(name) ?? { size: 0, wait: undefined };
    if (crowd.size >= MOST_WAITING) return false;
    crowd.size += 1;
    waits.set(name, crowd);
    const isOver = await this.join(crowd, step, untilUs, exchange, context);
    crowd.size -= 1;
    if (crowd.size === 0) waits.delete(name);
    return isOver;
  }

  private join(
    crowd: Crowd,
    step: Step,
    untilUs: number,
    exchange: KeptExchange,
    context: KeepContext,
  ): Promise<boolean> {
    if (crowd.wait) return crowd.wait.join(untilUs, exchange);
    const wait = new Wait(step, context);
    const settled = wait.join(untilUs, exchange);
    // On Workers no request can wait for the timers and answers of another.
    if (!endsTimersWithRequests()) crowd.wait = wait;
    void wait.poll(
      () => this.running.get(nameOf(step)),
      () => {
        crowd.wait = undefined;
      },
    );
    return settled;
  }

  private waitsOf(context: KeepContext): Map<string, Crowd> {
    const waits = this.waits.get(context) ?? new Map<string, Crowd>();
    this.waits.set(context, waits);
    return waits;
  }
}

/** All who wait for one claim in this process. */
interface Crowd {
  size: number;
  /** For all of them. */
  wait: Wait | undefined;
}

interface Waiter {
  readonly untilUs: number;
  readonly exchange: KeptExchange;
  readonly settle: (isOver: boolean) => void;
}

/** Those of this process who wait for one claim: one question to the store is for all of them. */
class Wait {
  private readonly waiters = new Set<Waiter>();
  private readonly step: Step;
  private readonly context: KeepContext;

  constructor(step: Step, context: KeepContext) {
    this.step = { ...step, op: 'look', binding: false };
    this.context = context;
  }

  join(untilUs: number, exchange: KeptExchange): Promise<boolean> {
    return new Promise((settle) => {
      this.waiters.add({ untilUs, exchange, settle });
    });
  }

  /**
   * Asks until nobody waits any more. Never rejects.
   *
   * @param ended called when that is so, before anybody could join
   */
  async poll(running: () => Promise<void> | undefined, ended: () => void): Promise<void> {
    let pauseMs = FIRST_MS;
    do {
      const hasEnded = await paused(Math.min(pauseMs, this.leftMs()), running());
      pauseMs = hasEnded ? SOON_MS : Math.min(2 * pauseMs, LAST_MS);
      this.settle(await this.look());
    } while (this.waiters.size > 0);
    ended();
  }

  /** Of the first whose time is over. */
  private leftMs(): number {
    const untilUs = Math.min(...[...this.waiters].map((waiter) => waiter.untilUs));
    return Math.max(0, (untilUs - this.context.clock.nowUs()) / 1000);
  }

  private async look(): Promise<boolean> {
    try {
      const answer = await this.context.ask(this.step);
      return !answer.failure && (answer as ClaimsAnswer).state !== 'running';
    } catch {
      return false; // of a store that breaks its contract: asked again
    }
  }

  private settle(isOver: boolean): void {
    const nowUs = this.context.clock.nowUs();
    for (const waiter of this.waiters) {
      if (!isOver && nowUs < waiter.untilUs && !waiter.exchange.isGone()) continue;
      this.waiters.delete(waiter);
      waiter.settle(isOver);
    }
  }
}

/** Settles after a time, or with `over`; whether it was that. */
function paused(ms: number, over: Promise<void> | undefined): Promise<boolean> {
  return new Promise((resolve) => {
    const cancel = after(ms, () => resolve(false));
    void over?.then(() => {
      cancel();
      resolve(true);
    });
  });
}

/** The lengths keep the parts apart. */
function nameOf({ limiter, key, claim }: Step): string {
  return `${limiter.length} ${key.length} ${limiter}${key}${claim?.id}`;
}
