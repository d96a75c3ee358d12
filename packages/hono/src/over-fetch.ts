/** The answer on a fetch response: its headers when there is one, and the permit until its body is over. */

import type { Admission } from '@spillway/core';
import {
  type Permit,
  type ResponsePermits,
  refusalFields,
  type WaitUntil,
  withFields,
} from '@spillway/core/fetch';
import type { Context, Next } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { type OnRefused, ownAnswer, type Reply } from './reply.js';

export class FetchReply implements Reply {
  private permit: Permit | undefined;
  private readonly c: Context;
  private readonly permits: ResponsePermits;

  constructor(c: Context, permits: ResponsePermits) {
    this.c = c;
    this.permits = permits;
  }

  isGone(): boolean {
    return this.c.req.raw.signal?.aborted === true;
  }

  prepare(admission: Admission): void {
    if (!admission.pending) return;
    const { c } = this;
    this.permit = this.permits.hold(admission, c.req.raw.signal, waitUntilOf(c));
  }

  async pass(admission: Admission, next: Next): Promise<void> {
    const { c, permit } = this;
    try {
      await next();
    } catch (error) {
      // What is no Error passes through Hono.
      permit?.release({ aborted: false });
      throw error;
    }
    if (!c.finalized) {
      permit?.release({ aborted: false });
      return; // nobody answered: Hono says so
    }
    const before = c.res;
    const dressed = withFields(before, admission.fields);
    // Hono sends no body to HEAD, and throws the one that there is away.
    const after = permit?.follow(dressed, c.req.method !== 'HEAD') ?? dressed;
    if (after === before) return;
    c.res = undefined; // or else it would be copied once more
    c.res = after;
  }

  refuse(admission: Admission): Response {
    const status = admission.status as ContentfulStatusCode;
    return this.c.body(admission.body, status, refusalFields(admission));
  }

  async refuseWith(onRefused: OnRefused, admission: Admission): Promise<Response> {
    const own = await ownAnswer(onRefused, admission, this.c);
    if (!own) return this.refuse(admission);
    const fields = admission.fields.filter(([name]) => name !== 'Content-Type');
    return withFields(own, fields);
  }
}

/** Hono throws where the platform has none. */
function waitUntilOf(c: Context): WaitUntil | undefined {
  try {
    const { executionCtx } = c;
    return (promise) => executionCtx.waitUntil(promise);
  } catch {
    return undefined;
  }
}
