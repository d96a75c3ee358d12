/** The exchange over fetch: fields are added to the response that Hono has, and its body is followed to its end. */

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
  private refusal: Admission | undefined;
  private readonly c: Context;

  constructor(c: Context, permits: ResponsePermits) {
    super(c.req.raw, permits);
    this.c = c;
  }

  decided(): void {
    showDecisions(this.c);
  }

  override reject(admission: Admission): void {
    this.refusal = admission;
  }

  override recorder(recorders: Recorders): Recorder {
    return withCachedBody(super.recorder(recorders), this.c);
  }

  async pass(next: Next): Promise<void> {
    const { c } = this;
    try {
      await next();
    } catch (error) {
      // What is no Error passes through Hono.
      this.fail();
      throw error;
    }
    if (!c.finalized) {
      this.fail();
      return; // nobody answered: Hono says so
    }
    const before = c.res;
    // Hono sends no body to HEAD, and throws the one that there is away.
    replaceResponse(c, this.finish(before));
    await this.kept;
  }

  answer(
    onRejected: OnRejected | undefined,
    report: (fault: unknown) => void,
  ): Response | Promise<Response> {
    if (this.response) return this.response as unknown as Response; // of a repeat
    const refusal = this.refusal as Admission;
    return onRejected ? this.own(onRejected, refusal, report) : this.problem(refusal);
  }

  protected override waitUntil(): WaitUntil | undefined {
    return waitUntilOf(this.c);
  }

  private async own(
    onRejected: OnRejected,
    refusal: Admission,
    report: (fault: unknown) => void,
  ): Promise<Response> {
    const { signal } = this.c.req.raw;
    const own = await ownAnswer(onRejected, refusal, this.c, report, (callback) =>
      signal.addEventListener('abort', callback, { once: true }),
    );
    if (!own) return this.problem(refusal);
    const fields = refusal.headers.filter(([name]) => name !== 'Content-Type');
    return withHeaders(own, fields);
  }

  private problem(refusal: Admission): Response {
    const status = refusal.status as ContentfulStatusCode;
    return this.c.body(refusal.body, status, rejectionHeaders(refusal));
  }
}
