/** How a guard answers in Hono, whatever is below it. */

import type { Admission } from '@spillway/core';
import type { Context, Next } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';

/** The app's own answer to a refused request. */
export type OnRefused = (admission: Admission, c: Context) => unknown;

/** The answer to one request. */
export interface Reply {
  /** Whether nobody waits for it any more, as far as the platform tells. */
  isGone(): boolean;
  /** Before anything else is done with the admission. */
  prepare(admission: Admission): void;
  /** Lets the request on. */
  pass(admission: Admission, next: Next): Promise<void>;
  /** Ends the request with the problem document. */
  refuse(admission: Admission): Response;
  /** Ends the request with the app's own answer. */
  refuseWith(onRefused: OnRefused, admission: Admission): Promise<Response>;
}

/** What the app answers; undefined if that is no response. A status of ours does not stay for what it throws. */
export async function ownAnswer(
  onRefused: OnRefused,
  admission: Admission,
  c: Context,
): Promise<Response | undefined> {
  c.status(admission.status as ContentfulStatusCode);
  try {
    const own = await onRefused(admission, c);
    if (isResponse(own)) return own;
    return c.finalized ? c.res : undefined;
  } catch (error) {
    c.status(500);
    throw error;
  }
}

/** By its shape: runtimes and frameworks have several classes of responses. */
function isResponse(value: unknown): value is Response {
  const { status, headers } = (value ?? {}) as Partial<Response>;
  return typeof status === 'number' && typeof headers === 'object';
}
