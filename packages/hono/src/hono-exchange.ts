/** What the middleware does with an exchange, whatever is below Hono. */

import type { Admission } from '@spillway/core';
import { admissionsOf, type Exchange, isLater, OwnAnswer } from '@spillway/core/adapter';
import type { Context, Next } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';

/** The app's own answer to a refused request. */
export type OnRejected = (admission: Admission, c: Context) => unknown;

export interface HonoExchange extends Exchange {
  /** Lets the request on. */
  pass(next: Next): Promise<void>;
  /**
   * The answer to a request that was refused, the app's own if there is one; or the one that was kept.
   *
   * @param report takes what the app's own answer did wrong
   */
  answer(
    onRejected: OnRejected | undefined,
    report: (fault: unknown) => void,
  ): Response | Promise<Response>;
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

/**
 * The app's own answer to a rejection; undefined if it gave none, which is reported. If it throws, the status is 500,
 * not that of the rejection.
 */
export async function ownAnswer(
  onRejected: OnRejected,
  admission: Admission,
  c: Context,
  report: (fault: unknown) => void,
  whenClosed: (callback: () => void) => void,
): Promise<Response | undefined> {
  let answer: Response | undefined;
  c.status(admission.status as ContentfulStatusCode);
  const own = new OwnAnswer(
    {
      isAnswered: () => answer !== undefined,
      canAnswerLater: () => false,
      sendRejection: () => undefined,
      markFailed: () => c.status(500),
      whenClosed,
    },
    report,
  );
  const takeResponse = (given: unknown): void => {
    if (isResponse(given)) answer = given;
    else if (c.finalized) answer = c.res;
  };
  await own.run(() => {
    const given = onRejected(admission, c);
    return isLater(given) ? given.then(takeResponse) : takeResponse(given);
  });
  return answer;
}

/** By its shape: runtimes and frameworks have several classes of responses. */
function isResponse(value: unknown): value is Response {
  const { status, headers } = (value ?? {}) as Partial<Response>;
  return typeof status === 'number' && typeof headers === 'object';
}
