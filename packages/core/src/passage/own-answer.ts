import { asError, SpillwayError } from '../base/errors.js';
import { after, isThenable } from '../base/host.js';

const RESPONSE_START_TIMEOUT_MS = 10_000;

/** How long a response, such as a file or view, may take to begin after `onRejected` settles. */
const LONGEST_AFTER_END_MS = 1_000;

const CALLED_NEXT =
  'onRejected called next(), but a rejected request never reaches a handler: answer in onRejected, or leave it out';
const ENDED = 'onRejected ended without an answer, so the client got the default rejection';
const LATE = 'onRejected has not answered within 10 s, so the client got the default rejection';

/** The response to a rejected request, as {@link OwnAnswer} uses it. */
export interface RejectedResponse {
  /** Whether a response has begun. Its body may still be streaming. */
  isAnswered(): boolean;
  /** Whether a callback can still respond after `onRejected` has returned. */
  canAnswerLater(): boolean;
  sendRejection(): void;
  /** Gives the response an error status, for the app's error handler. */
  markFailed(): void;
  /** Calls back once when the response is complete or its client has disconnected. */
  whenClosed(callback: () => void): void;
}

/**
 * Runs `onRejected` for one rejected request. If the function sends no response in time, the default rejection is sent
 * and a fault is reported. If the function fails, its error goes to the app's error handler.
 */
export class OwnAnswer {
  private isSettled = false;
  // Whether the default rejection was sent, or the app's error handler has the request.
  private isTaken = false;
  // Whether the function has called `next()` and can answer only until it ends. When it ends, the default rejection is
  // sent.
  private calledNext = false;
  private cancel: (() => void) | undefined;
  private resolve: (() => void) | undefined;
  private readonly response: RejectedResponse;
  private readonly report: (fault: unknown) => void;

  /** @param report receives mistakes of the app's function */
  constructor(response: RejectedResponse, report: (fault: unknown) => void) {
    this.response = response;
    this.report = report;
  }

  /**
   * Calls the app's function. Returns a promise only if the function does. This promise settles within 10 s. It rejects
   * if the function's promise does. Errors that come too late to be handled are only reported: after the default
   * rejection, after another error, or after the promise has settled.
   *
   * @throws the error of a function that fails before it returns
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
    this.ended(RESPONSE_START_TIMEOUT_MS);
    return undefined;
  }

  /** Called instead of the next handler if the app calls `next()` for a rejected request. */
  wentOn(): void {
    this.report(missing(CALLED_NEXT));
    if (this.isSettled) return;
    if (!this.response.canAnswerLater()) this.calledNext = true;
    else if (!this.response.isAnswered()) this.rejectRequest();
  }

  /** Handles an error of the app's function. Returns whether to pass it to the app's error handler. */
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
      this.setTimer(RESPONSE_START_TIMEOUT_MS, LATE);
      // A custom `then` may throw or call back twice; a promise around it does not.
      new Promise((take) => take(own)).then(
        () => {
          this.ended(LONGEST_AFTER_END_MS);
          resolve();
        },
        (error) => {
          const isLate = this.isSettled; // true if `resolve` was called
          this.resolve = undefined;
          if (isLate) this.report(error);
          else if (this.failed(error)) reject(anError(error));
        },
      );
    });
  }

  private ended(restMs: number): void {
    const { isSettled, calledNext, response } = this;
    if (isSettled) return;
    if (calledNext) this.rejectRequest();
    else if (response.isAnswered()) this.finish();
    else if (response.canAnswerLater()) this.setTimer(restMs, ENDED);
    else this.missed(ENDED);
  }

  private setTimer(ms: number, reason: string): void {
    const isFirst = !this.cancel;
    this.cancel?.();
    this.cancel = after(ms, () => this.missed(reason));
    if (isFirst) this.response.whenClosed(() => this.finish());
  }

  private missed(reason: string): void {
    if (!this.calledNext) {
      if (this.response.isAnswered()) {
        this.finish();
        return;
      }
      this.report(missing(reason));
    }
    this.rejectRequest();
  }

  private rejectRequest(): void {
    this.isTaken = true;
    this.finish();
    this.response.sendRejection();
  }

  private finish(): void {
    this.isSettled = true;
    this.cancel?.();
    this.resolve?.();
  }
}

/** Wraps primitives: `undefined` would mean success to frameworks, and `'route'` the next route to Express. */
function anError(thrown: unknown): unknown {
  return typeof thrown === 'object' && thrown !== null ? thrown : asError(thrown);
}

function missing(what: string): SpillwayError {
  return new SpillwayError('SPW_ANSWER_MISSING', what);
}
