/** When a fetch response is over: its body has ended, was cancelled or failed, or its client is gone. */

import type { Logger } from '../base/host.js';
import type { ResponseEnd } from '../contract/limiter-turn.js';
import type { Fault } from '../contract/observer.js';
import { tellFault } from '../observe/faults.js';
import type { OnClosed } from '../passage/exchange.js';
import { ObservedBody } from './observed-body.js';
import { type WebResponse, type WebSignal, webClasses } from './web.js';

/** Takes a promise that the platform should wait for though the response is complete. */
export type WaitUntil = (promise: Promise<unknown>) => void;

/** Watches the responses of one guard that have something to give back; for adapters. */
export class ResponsePermits {
  /** Where another middleware throws a response away unread, nothing else would tell. */
  private readonly losses: FinalizationRegistry<Permit> | undefined;
  private readonly onFault: ((fault: Fault) => void) | undefined;
  private readonly logger: Logger | false | undefined;

  /**
   * @param onFault told when `waitUntil` throws
   * @param logger told of that, once a minute, where there is no `onFault`; default the console
   */
  constructor(onFault?: (fault: Fault) => void, logger?: Logger | false) {
    this.onFault = onFault;
    this.logger = logger;
    if (typeof FinalizationRegistry === 'undefined') return; // a Worker must ask for it
    this.losses = new FinalizationRegistry((permit) => permit.release({ aborted: true }));
  }

  /**
   * @param signal aborts when the client goes away, where the platform tells
   * @param waitUntil told at once: where the client's going ends all work, it keeps alive what gives the permit back
   */
  hold(
    closed: OnClosed,
    signal: WebSignal | null | undefined,
    waitUntil: WaitUntil | undefined,
  ): Permit {
    const permit = new Permit(closed, signal, this.losses);
    if (!waitUntil) return permit;
    try {
      waitUntil(permit.released());
    } catch (error) {
      tellFault(this.onFault, { limiter: '', source: 'adapter', error }, this.logger);
    }
    return permit;
  }
}

/** What one request has to give back. */
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

  /** Settles when the store has the permit back; to be asked for before that. */
  released(): Promise<void> {
    return new Promise((resolve) => {
      this.done = resolve;
    });
  }

  /** Gives back what is held; the first time only. */
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
   * The response to send, which gives back the permit when it is over; at once if there is nothing to follow, or it is
   * no response at all: that is for the runtime to say.
   */
  follow<Res extends WebResponse>(response: Res, sendsBody: boolean): Res {
    if (this.isReleased) return response; // the client went away while the handler ran
    if (!response) {
      this.release({ aborted: false });
      return response;
    }
    const { status, body } = response;
    if (!body || !sendsBody) {
      this.release({ status, aborted: false });
      return response;
    }
    try {
      return this.watch(response, body);
    } catch {
      this.release({ status, aborted: true }); // read already, or locked: it cannot be sent either
      return response;
    }
  }

  private watch<Res extends WebResponse>(response: Res, body: object): Res {
    const { status } = response;
    const { Response, ReadableStream } = webClasses();
    const watched = new ObservedBody(body, (aborted) => this.release({ status, aborted }));
    // What reads the stream holds its source, whatever becomes of the objects around it.
    this.losses?.register(watched, this, this);
    const stream = new ReadableStream(watched, { highWaterMark: 0 }); // reads nothing ahead
    return new Response(stream, response) as Res;
  }

  private readonly abort = (): void => this.release({ aborted: true });
}
