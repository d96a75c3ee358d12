/** A custom answer to a rejected request: whatever the app's function does, the client gets one rejection. */

import { asError, SpillwayError } from '../base/errors.js';
import { after, isThenable } from '../base/host.js';

/** How long a custom answer may take to begin. */
const LONGEST_MS = 10_000;

/** Frameworks send files and views after the function that asked for them has ended. */
const LONGEST_AFTER_END_MS = 1_000;

const CALLED_NEXT =
  'onRejected called next(), but a rejected request never reaches a handler: answer in onRejected, or leave it out';
const ENDED = 'onRejected ended without an answer, so the client got the default rejection';
const LATE = 'onRejected has not answered within 10 s, so the client got the default rejection';

/** The response to a rejected request, as {@link OwnAnswer} needs it. */
export interface RejectedResponse {
  /** Whether an answer has begun. A slow body is an answer too. */
  isAnswered(): boolean;
  /** Whether an answer can still come after the function has ended, from a callback. */
  canAnswerLater(): boolean;
  /** Sends the default rejection. */
  sendRejection(): void;
  /** Makes the response an error instead of a rejection, for the app's error handler. */
  markFailed(): void;
  /** Calls back once when the response is complete or its client has gone away. */
  whenClosed(callback: () => void): void;
}

/** Runs the custom answer to one rejected request. If it gives none, the default rejection is sent and reported. */
export class OwnAnswer {
  /** Whether nobody waits for an answer any more: there is one, the function has failed, or the client is gone. */
  private isOver = false;
  /** Whether the default rejection was sent, or the app's error handler has the request. */
  private isTaken = false;
  /** Whether the rejection is to be sent as soon as the function has ended, whatever it has set. */
  private hasGoneOn = false;
  private cancelTimer: (() => void) | undefined;
  private resolve: (() => void) | undefined;
  private readonly response: RejectedResponse;
  private readonly report: (fault: unknown) => void;

  /** @param report takes what the app's function did wrong */
  constructor(response: RejectedResponse, report: (fault: unknown) => void) {
    this.response = response;
    this.report = report;
    this.cancelTimer = undefined;
    this.resolve = undefined;
  }

  /**
   * Calls the app's function. Returns a promise only if the function does; it settles after at most 10 s.
   *
   * @throws what the function throws, unless the request is answered already; a promise rejects with it
   */
  run(answer: () => unknown): Promise<void> | undefined {
    let own: unknown;
    try {
      own = answer();
    } catch (error) {
      if (this.failed(error)) throw anError(error);
      return undefined;
    }
    if (isThenable(own)) return this.wait(own);
    this.ended(LONGEST_MS);
    return undefined;
  }

  /** For the app's `next()`: a rejected request goes no further. */
  wentOn(): void {
    this.report(missing(CALLED_NEXT));
    if (this.isOver) return;
    if (!this.response.canAnswerLater()) this.hasGoneOn = true;
    else if (!this.response.isAnswered()) this.reject();
  }

  /** Takes an error of the app's function. Returns whether the app's error handler is to have it. */
  failed(error: unknown): boolean {
    if (this.isTaken) {
      this.report(error);
      return false;
    }
    this.isTaken = true;
    this.finish();
    this.response.markFailed();
    return true;
  }

  private wait(own: PromiseLike<unknown>): Promise<void> {
    return new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.watch(LONGEST_MS, LATE);
      // Its `then` may be of anybody's making.
      new Promise((take) => take(own)).then(
        () => {
          this.ended(LONGEST_AFTER_END_MS);
          resolve();
        },
        (error) => {
          const isLate = this.isOver; // then `resolve` was called
          this.resolve = undefined;
          if (isLate) this.report(error);
          else if (this.failed(error)) reject(anError(error));
        },
      );
    });
  }

  private ended(restMs: number): void {
    const { isOver, hasGoneOn, response } = this;
    if (isOver) return;
    if (hasGoneOn) this.reject();
    else if (response.isAnswered()) this.finish();
    else if (response.canAnswerLater()) this.watch(restMs, ENDED);
    else this.missed(ENDED);
  }

  private watch(ms: number, reason: string): void {
    const isFirst = !this.cancelTimer;
    this.cancelTimer?.();
    this.cancelTimer = after(ms, () => this.missed(reason));
    if (isFirst) this.response.whenClosed(() => this.finish());
  }

  private missed(reason: string): void {
    if (!this.hasGoneOn) {
      if (this.response.isAnswered()) {
        this.finish();
        return;
      }
      this.report(missing(reason));
    }
    this.reject();
  }

  private reject(): void {
    this.isTaken = true;
    this.finish();
    this.response.sendRejection();
  }

  private finish(): void {
    this.isOver = true;
    this.cancelTimer?.();
    this.resolve?.();
  }
}

/** Frameworks take `undefined` for no error, and Express takes `'route'` for the way to the next handler. */
function anError(thrown: unknown): unknown {
  return typeof thrown === 'object' && thrown !== null ? thrown : asError(thrown);
}

function missing(what: string): SpillwayError {
  return new SpillwayError('SPW_ANSWER_MISSING', what);
}
