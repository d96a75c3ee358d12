/** What the middleware does with an exchange, whatever is below Hono. */

import type { Admission } from '@spillway/core';
import { admissionsOf, type Exchange } from '@spillway/core/adapter';
import type { Context, Next } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';

/** The app's own answer to a refused request. */
export type OnRefused = (admission: Admission, c: Context) => unknown;

export interface HonoExchange extends Exchange {
  /** Lets the request on. */
  pass(next: Next): Promise<void>;
  /** The answer to a request that was refused: the app's own if there is one. */
  answer(onRefused: OnRefused | undefined): Response | Promise<Response>;
}

/** Shows the decisions of all guards so far to handlers. */
export function showDecisions(c: Context): void {
  const admissions = admissionsOf(c);
  const [first] = admissions;
  const isOnly = first && admissions.length === 1;
  c.set('spillway', isOnly ? first.decisions : admissions.flatMap(({ decisions }) => decisions));
}

/** What the app answers; undefined if that is no response. The status of the refusal does not stay for what it throws. */
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
