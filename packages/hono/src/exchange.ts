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
  /** The answer to a request that was refused, the app's own if there is one; or the one that was kept. */
  answer(onRefused: OnRefused | undefined): Response | Promise<Response>;
}

/** Shows the decisions of all guards so far to handlers. */
export function showDecisions(c: Context): void {
  const admissions = admissionsOf(c);
  const [first] = admissions;
  const isOnly = first && admissions.length === 1;
  c.set('spillway', isOnly ? first.decisions : admissions.flatMap(({ decisions }) => decisions));
}

/** Puts a response in place of the one that Hono has, which is not copied once more. */
export function replaceResponse(c: Context, response: Response): void {
  if (response === c.res) return;
  c.res = undefined;
  c.res = response;
}

/** What the app answers; undefined if that is no response. If it throws, the status is 500, not that of the refusal. */
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
