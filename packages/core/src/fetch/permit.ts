import type { ResponseEnd } from '../contract/limiter-turn.js';
import type { OnClosed } from '../passage/gate.js';
import {
  type WebReader,
  type WebResponse,
  type WebSignal,
  type WebSource,
  webClasses,
} from './web.js';

/** Keeps the platform alive until a promise settles, even if the response is complete. */
export type WaitUntil = (promise: Promise<unknown>) => void;

/** Releases the permits of one guard's requests when their responses end; for adapters. */
export class ResponsePermits {
  // Garbage collection is the only sign that other middleware has dropped a response unread.
  private readonly losses: FinalizationRegistry<Permit> | undefined;
  private readonly report: (error: unknown) => void;

  /** @param report called with the error if `waitUntil` throws or rejects */
  constructor(report: (error: unknown) => void) {
    this.report = report;
    if (typeof FinalizationRegistry === 'undefined') return; // Workers with an old compatibility date lack it
    this.losses = new FinalizationRegistry((permit) => permit.release({ aborted: true }));
  }

  /**
   * @param signal aborts when the client goes away, if the platform reports that
   * @param waitUntil called immediately, so that the release still runs on platforms that stop all work when the client
   * disconnects
   */
  hold(
    closed: OnClosed,
    signal: WebSignal | null | undefined,
    waitUntil: WaitUntil | undefined,
  ): Permit {
    const permit = new Permit(closed, signal, this.losses);
    if (waitUntil) {
      // `waitUntil` may throw, or be async and reject.
      const called = new Promise<void>((resolve) => resolve(waitUntil(permit.released())));
      called.catch(this.report);
    }
    return permit;
  }
}

export class Permit {
  private done: (() => void) | undefined;
  private isReleased = false;
  private readonly closed: OnClosed;
  private readonly signal: WebSignal | null | undefined;
  private readonly losses: FinalizationRegistry<Permit> | undefined;

  constructor(
    closed: OnClosed,
    signal: WebSignal | null | undefined,
    losses: FinalizationRegistry<Permit> | undefined,
  ) {
    this.closed = closed;
    this.signal = signal;
    this.losses = losses;
    signal?.addEventListener('abort', this.abort);
  }

  /** Settles when the store call that releases the permit has ended. Must be called before the release. */
  released(): Promise<void> {
    return new Promise((resolve) => {
      this.done = resolve;
    });
  }

  release(outcome: ResponseEnd): void {
    if (this.isReleased) return;
    this.isReleased = true;
    this.signal?.removeEventListener('abort', this.abort);
    this.losses?.unregister(this);
    const later = this.closed(outcome);
    if (!this.done) return;
    if (later) void later.then(this.done);
    else this.done();
  }

  /**
   * Returns the response to send. The permit is released when its body ends, or immediately if there is no body. A
   * value that is not a response is returned as is, for the runtime to reject.
   */
  follow<Res extends WebResponse>(response: Res, sendsBody: boolean): Res {
    if (this.isReleased) return response; // the client went away while the handler ran
    if (!response) {
      this.release({ aborted: false });
      return response;
    }
    const { status, body } = response;
    // The signal was aborted before the permit was taken, so it never fires, and nobody may read the body.
    const aborted = this.signal?.aborted === true;
    if (!body || !sendsBody || aborted) {
      this.release({ status, aborted });
      return response;
    }
    try {
      return this.watchBody(response, body);
    } catch {
      this.release({ status, aborted: true }); // the body was read or is locked, so the response can't be sent either
      return response;
    }
  }

  private watchBody<Res extends WebResponse>(response: Res, body: object): Res {
    const { status } = response;
    const { Response, ReadableStream } = webClasses();
    const reader = (body as { getReader(): WebReader }).getReader();
    const end = (aborted: boolean): void => this.release({ status, aborted });
    const watched: WebSource = {
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (!done) return controller.enqueue(value);
          end(false);
          controller.close();
        } catch (error) {
          end(true);
          controller.error(error);
        }
      },
      cancel(reason) {
        end(true);
        return reader.cancel(reason);
      },
    };
    // A reader of the stream keeps its source alive, whatever happens to the response object.
    this.losses?.register(watched, this, this);
    const stream = new ReadableStream(watched, { highWaterMark: 0 }); // no read-ahead
    return new Response(stream, response) as Res;
  }

  private readonly abort = (): void => this.release({ aborted: true });
}
