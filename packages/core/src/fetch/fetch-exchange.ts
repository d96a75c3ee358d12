import type { Admission } from '../contract/admission.js';
import type { Recorder, Recorders, ShownResponse, StoredResponse } from '../contract/recorder.js';
import type { Header } from '../contract/request.js';
import type { Exchange, OnClosed } from '../passage/gate.js';
import type { Permit, ResponsePermits, WaitUntil } from './permit.js';
import { rejectionResponse, replayedResponse, withHeaders } from './response.js';
import type { HostResponse, WebRequest, WebResponse } from './web.js';

/** A fetch request and the response to it; for adapters. */
export class FetchExchange implements Exchange {
  response: HostResponse | undefined;
  /** With `keepFirst`: settles when a response without a body may be sent. */
  kept: Promise<void> | undefined;
  protected readonly request: WebRequest;
  private readonly permits: ResponsePermits;
  private readonly fields: Header[] = [];
  private permit: Permit | undefined;
  private shown: ShownResponse | undefined;

  constructor(request: WebRequest, permits: ResponsePermits) {
    this.request = request;
    this.permits = permits;
  }

  isGone(): boolean {
    return this.request.signal?.aborted === true;
  }

  onClosed(closed: OnClosed): void {
    this.permit = this.permits.hold(closed, this.request.signal, this.waitUntil());
  }

  // Always undefined, because there is no response yet. `finish` merges the headers with those of the response.
  getHeader(): undefined {
    return undefined;
  }

  setHeader(name: string, value: string): void {
    this.fields.push([name, value]);
  }

  reject(admission: Admission): void {
    this.response = rejectionResponse(admission, this.request.method);
  }

  recorder(recorders: Recorders): Recorder {
    return recorders.fetch(this.request, (answer) => {
      this.shown = answer;
    });
  }

  replay(answer: StoredResponse): void {
    this.response = withHeaders(replayedResponse(answer, this.request.method), this.fields);
  }

  /** Returns the handler's response with the headers added. The permits are released when its body ends. */
  finish<Res extends WebResponse>(response: Res): Res {
    const sendsBody = this.request.method !== 'HEAD';
    const dressed = withHeaders(this.watched(response, sendsBody), this.fields);
    return this.permit?.follow(dressed, sendsBody) ?? dressed;
  }

  private watched<Res extends WebResponse>(response: Res, sendsBody: boolean): Res {
    if (!this.shown) return response;
    const watched = this.shown.see(response, sendsBody);
    this.kept = watched.kept;
    return watched.response;
  }

  /** Releases the permits. Call it if the handler returned no response. */
  fail(): void {
    this.shown?.fail();
    this.permit?.release({ aborted: false });
  }

  /**
   * For platforms that stop all work when the response ends: returns a function that prevents this until a promise
   * settles.
   */
  protected waitUntil(): WaitUntil | undefined {
    return undefined;
  }
}
