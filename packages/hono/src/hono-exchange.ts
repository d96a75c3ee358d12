import type { Admission } from '@spillway/core';
import { admissionsOf, type Exchange, isLater, OwnAnswer } from '@spillway/core/adapter';
import type { Context, Next } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';

/** Answers a rejected request in place of the problem document. */
export type OnRejected = (admission: Admission, c: Context) => unknown;

export interface HonoExchange extends Exchange {
  pass(next: Next): Promise<void>;
  /**
   * The response to a request that didn't pass: a replayed response, or the rejection.
   *
   * @param report called with faults of `onRejected`
   */
  answer(
    onRejected: OnRejected | undefined,
    report: (fault: unknown) => void,
  ): Response | Promise<Response>;
}

export function showDecisions(c: Context): void {
  const admissions = admissionsOf(c);
  const [first] = admissions;
  const isOnly = first && admissions.length === 1;
  c.set('spillway', isOnly ? first.decisions : admissions.flatMap(({ decisions }) => decisions));
}

/** Sets the response to undefined first, because Hono would copy the old headers to the new response. */
export function replaceResponse(c: Context, response: Response): void {
  if (response === c.res) return;
  c.res = undefined;
  c.res = response;
}

/**
 * Returns the response of `onRejected`. If there is none, reports a fault and returns undefined. If `onRejected`
 * throws, the status is 500, not that of the rejection.
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

/** Tests the shape, not `instanceof`, because runtimes and frameworks have several Response classes. */
function isResponse(value: unknown): value is Response {
  const { status, headers } = (value ?? {}) as Partial<Response>;
  return typeof status === 'number' && typeof headers === 'object';
}
