import type { Admission } from '@spillway/core';
import type { Recorder, Recorders } from '@spillway/core/adapter';
import {
  FetchExchange,
  type ResponsePermits,
  rejectionHeaders,
  type WaitUntil,
  withHeaders,
} from '@spillway/core/fetch';
import type { Context, Next } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import {
  type HonoExchange,
  type OnRejected,
  ownAnswer,
  replaceResponse,
  showDecisions,
} from './hono-exchange.js';
import { withCachedBody } from './hono-recorder.js';
import { waitUntilOf } from './hono-request.js';

export class HonoFetchExchange extends FetchExchange implements HonoExchange {
  private rejection: Admission | undefined;
  private readonly c: Context;

  constructor(c: Context, permits: ResponsePermits) {
    super(c.req.raw, permits);
    this.c = c;
  }

  decided(): void {
    showDecisions(this.c);
  }

  override reject(admission: Admission): void {
    this.rejection = admission;
  }

  override recorder(recorders: Recorders): Recorder {
    return withCachedBody(super.recorder(recorders), this.c);
  }

  async pass(next: Next): Promise<void> {
    const { c } = this;
    try {
      await next();
    } catch (error) {
      // Hono has turned errors into responses, so only thrown values that are not errors reach this line.
      this.fail();
      throw error;
    }
    if (!c.finalized) {
      this.fail();
      return; // no handler answered: Hono throws
    }
    const before = c.res;
    replaceResponse(c, this.finish(before));
    await this.kept;
  }

  answer(
    onRejected: OnRejected | undefined,
    report: (fault: unknown) => void,
  ): Response | Promise<Response> {
    if (this.response) return this.response as unknown as Response; // a replay
    const rejection = this.rejection as Admission;
    return onRejected ? this.own(onRejected, rejection, report) : this.problem(rejection);
  }

  protected override waitUntil(): WaitUntil | undefined {
    return waitUntilOf(this.c);
  }

  private async own(
    onRejected: OnRejected,
    rejection: Admission,
    report: (fault: unknown) => void,
  ): Promise<Response> {
    const { signal } = this.c.req.raw;
    const own = await ownAnswer(onRejected, rejection, this.c, report, (callback) =>
      signal.addEventListener('abort', callback, { once: true }),
    );
    if (!own) return this.problem(rejection);
    const fields = rejection.headers.filter(([name]) => name !== 'Content-Type');
    return withHeaders(own, fields);
  }

  private problem(rejection: Admission): Response {
    const status = rejection.status as ContentfulStatusCode;
    return this.c.body(rejection.body, status, rejectionHeaders(rejection));
  }
}
