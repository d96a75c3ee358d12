/** How a guard answers in Hono, whatever is below it. */

import type { Admission } from '@spillway/core';
import type { Context, Next } from 'hono';

/** The app's own answer to a refused request. */
export type OnRefused = (admission: Admission, c: Context) => Response | Promise<Response>;

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
  refuseWith(onRefused: OnRefused, admission: Admission): Response | Promise<Response>;
}
