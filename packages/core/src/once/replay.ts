/** Handles a request whose key is already claimed: it waits, gets the stored response or is rejected. */

import { getOrMake } from '../base/get-or-make.js';
import { after, endsTimersWithRequests, isThenable } from '../base/host.js';
import { inTime, type Result } from '../base/within.js';
import type { Decision, Reason } from '../contract/decision.js';
import type { KeepContext, Settled, StoredExchange } from '../contract/keeping.js';
import type { LimiterTurn } from '../contract/limiter-turn.js';
import type { Header } from '../contract/request.js';
import type { ClaimsAnswer } from '../contract/rule.js';
import type { Claim, Step } from '../contract/store.js';
import { noteIn } from './claim-note.js';
import type { Settings } from './idempotency-options.js';
import { type Comparing, compareRequests } from './request-fingerprint.js';
import { type AnswerRecord, decodeRecord } from './stored-response.js';

const REPLAYED: Header = ['Idempotency-Replayed', 'true'];

/**
 * Decides on a request whose claim is done: a replay, or a rejection.
 *
 * @param own the digest of the value that `fingerprint` returned, if any
 */
export async function repeat<Raw>(
  turn: LimiterTurn<Raw>,
  exchange: StoredExchange,
  context: KeepContext,
  settings: Settings<Raw>,
  own: string | undefined,
  comparing: Comparing,
): Promise<Settled> {
  const { request, decision } = turn;
  const answer = turn.answer as ClaimsAnswer;
  const note = noteIn(answer.note);
  if (!note) return rejected(decision, 'not-kept');
  const compared = await compareRequests(note, request, exchange.recorder, own, comparing);
  if (compared !== 'same') {
    const statuses = { other: settings.mismatchStatus, 'too-large': 413, late: 408 };
    return rejected(decision, 'mismatch', statuses[compared]);
  }
  const { limiter, key } = turn.step as Step;
  const name = { limiter, key, id: answer.owner };
  const asked = inTime(context.storeTimeoutMs, (deadlineUs) =>
    context.values.get(name, { deadlineUs }),
  );
  const found: Result<Uint8Array | undefined> = isThenable(asked) ? await asked : asked;
  if ('error' in found) {
    context.fault({ limiter: settings.name, source: 'store', error: found.error });
    return storeFailed(decision);
  }
  return replayed(decision, found.value && decodeRecord(found.value));
}

function replayed(decision: Decision, record: AnswerRecord | undefined): Settled {
  if (!record) return rejected(decision, 'not-kept');
  const { status, fields, body } = record;
  if (body) return { decision, answer: { status, headers: [...fields, REPLAYED], body } };
  const places = fields.filter(([name]) => name === 'Location');
  return { ...rejected(decision, 'not-kept'), headers: places };
}

function rejected(decision: Decision, reason: Reason, status?: number): Settled {
  return { decision: { ...decision, outcome: 'denied', reason, status, retryAfterMs: Infinity } };
}

/** Regardless of `onStoreError`: the first request was completed, so this one must not run. */
function storeFailed(decision: Decision): Settled {
  return {
    decision: { ...decision, outcome: 'error', reason: 'store-error', retryAfterMs: Number.NaN },
  };
}

const FIRST_PAUSE_MS = 50;
const MAX_PAUSE_MS = 500;

/** The pause between polls once the run has ended here: the end soon reaches the store. */
const SOON_MS = 10;

/** The most retries that wait for a key in one guard. A well-behaved client sends one or two at a time. */
const MOST_WAITING = 32;

export class WaitingRetries {
  private readonly running = new Map<string, Promise<void>>();
  /** When each waiting request gives up, in microseconds. The keys are the claim objects of the requests. */
  private readonly untilUs = new WeakMap<Claim, number>();
  /** The waiting retries, separately for each guard, because guards may have different stores. */
  private readonly waits = new WeakMap<KeepContext, Map<string, Crowd>>();
  private readonly waitUs: number;

  constructor(waitUs: number) {
    this.waitUs = waitUs;
  }

  /** Registers that this process runs the handler. When `over` settles, waiting retries ask the store at once. */
  noteRun(step: Step, over: Promise<void>): void {
    if (this.waitUs === 0) return;
    const name = claimNameOf(step);
    this.running.set(name, over);
    void over.then(() => {
      if (this.running.get(name) === over) this.running.delete(name);
    });
  }

  /**
   * Waits until the run that holds the claim has ended. Returns true if the claim should be tried again. Returns false
   * if the time is up, the client is gone, or too many requests wait.
   */
  async wait(step: Step, exchange: StoredExchange, context: KeepContext): Promise<boolean> {
    const claim = step.claim as Claim;
    const { clock } = context;
    const untilUs = this.untilUs.get(claim) ?? clock.nowUs() + this.waitUs;
    this.untilUs.set(claim, untilUs);
    if (untilUs <= clock.nowUs() || exchange.isGone()) return false;
    const waits = getOrMake(this.waits, context, () => new Map<string, Crowd>());
    const name = claimNameOf(step);
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
    exchange: StoredExchange,
    context: KeepContext,
  ): Promise<boolean> {
    if (crowd.wait) return crowd.wait.join(untilUs, exchange);
    const wait = new Wait(step, context);
    const settled = wait.join(untilUs, exchange);
    // On Workers a request cannot wait for the timers and I/O of another request.
    if (!endsTimersWithRequests()) crowd.wait = wait;
    void wait.poll(
      () => this.running.get(claimNameOf(step)),
      () => {
        crowd.wait = undefined;
      },
    );
    return settled;
  }
}

interface Crowd {
  size: number;
  wait: Wait | undefined;
}

interface Waiter {
  readonly untilUs: number;
  readonly exchange: StoredExchange;
  readonly settle: (isOver: boolean) => void;
}

class Wait {
  private readonly waiters = new Set<Waiter>();
  private readonly step: Step;
  private readonly context: KeepContext;

  constructor(step: Step, context: KeepContext) {
    this.step = { ...step, op: 'look', binding: false };
    this.context = context;
  }

  join(untilUs: number, exchange: StoredExchange): Promise<boolean> {
    return new Promise((settle) => {
      this.waiters.add({ untilUs, exchange, settle });
    });
  }

  /**
   * Polls until no requests wait. Never rejects.
   *
   * @param ended called when no requests wait, before another request can join
   */
  async poll(running: () => Promise<void> | undefined, ended: () => void): Promise<void> {
    let pauseMs = FIRST_PAUSE_MS;
    do {
      const hasEnded = await paused(Math.min(pauseMs, this.leftMs()), running());
      pauseMs = hasEnded ? SOON_MS : Math.min(2 * pauseMs, MAX_PAUSE_MS);
      this.settleWaiters(await this.checkClaim());
    } while (this.waiters.size > 0);
    ended();
  }

  private leftMs(): number {
    const untilUs = Math.min(...[...this.waiters].map((waiter) => waiter.untilUs));
    return Math.max(0, (untilUs - this.context.clock.nowUs()) / 1000);
  }

  private async checkClaim(): Promise<boolean> {
    try {
      const answer = await this.context.ask(this.step);
      return !answer.failure && (answer as ClaimsAnswer).state !== 'running';
    } catch {
      return false; // the store broke its contract: poll again
    }
  }

  private settleWaiters(isOver: boolean): void {
    const nowUs = this.context.clock.nowUs();
    for (const waiter of this.waiters) {
      if (!isOver && nowUs < waiter.untilUs && !isGone(waiter.exchange)) continue;
      this.waiters.delete(waiter);
      waiter.settle(isOver);
    }
  }
}

/** An exchange that fails counts as gone: if it threw here, it would leave the other waiters waiting. */
function isGone(exchange: StoredExchange): boolean {
  try {
    return exchange.isGone();
  } catch {
    return true;
  }
}

function paused(ms: number, over: Promise<void> | undefined): Promise<boolean> {
  return new Promise((resolve) => {
    const cancel = after(ms, () => resolve(false));
    void over?.then(() => {
      cancel();
      resolve(true);
    });
  });
}

/** The lengths of limiter and key make the name of a claim unique. */
function claimNameOf({ limiter, key, claim }: Step): string {
  return `${limiter.length} ${key.length} ${limiter}${key}${claim?.id}`;
}
