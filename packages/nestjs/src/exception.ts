import { HttpException } from '@nestjs/common';
import type { Admission } from '@spillway/core';

/** Machine-readable fields of a rejection, for clients that see no status, as in GraphQL and messages. */
export interface RejectionExtensions {
  /**
   * - `RATE_LIMITED` (429): a rate or concurrency limit.
   * - `OVERLOADED` (503): a load shedder.
   * - `UNAVAILABLE` (503): another reason, such as a store that cannot be reached with `onStoreError: 'deny'`.
   * - `FORBIDDEN` (403): a blocked key, or a limit with `status: 403`.
   * - `BAD_REQUEST` (any other 4xx): idempotency keys, or `status: 402`.
   */
  readonly code: 'RATE_LIMITED' | 'OVERLOADED' | 'UNAVAILABLE' | 'FORBIDDEN' | 'BAD_REQUEST';
  /** Milliseconds until a retry can be admitted; absent if waiting does not help. */
  readonly retryAfterMs?: number | undefined;
}

/**
 * Thrown for a rejected call that can't be answered directly, and for every rejection with `rejection: 'throw'`, unless
 * the option `exception` makes another. Its response is the problem document, and it has the status of the rejection,
 * such as 429.
 *
 * @example
 * ```ts
 * import { type ArgumentsHost, Catch, type ExceptionFilter } from '@nestjs/common';
 * import { SpillwayException } from '@spillway/nestjs';
 *
 * class RejectionFilter implements ExceptionFilter {
 *   catch({ admission }: SpillwayException, host: ArgumentsHost): void {
 *     const response = host.switchToHttp().getResponse();
 *     response.status(admission.status).json({ sorry: admission.binding?.limiter });
 *   }
 * }
 * Catch(SpillwayException)(RejectionFilter);
 * ```
 */
export class SpillwayException extends HttpException {
  readonly admission: Admission;
  /** The `extensions` of the error in a GraphQL response. */
  readonly extensions: RejectionExtensions;

  constructor(admission: Admission) {
    const problem = JSON.parse(admission.body) as Record<string, unknown>;
    super(problem, admission.status);
    this.name = 'SpillwayException';
    this.message = String(problem['detail'] ?? problem['title']);
    this.admission = admission;
    const wait = admission.binding?.retryAfterMs;
    this.extensions = {
      code: codeOf(admission),
      ...(Number.isFinite(wait) && { retryAfterMs: wait }),
    };
  }

  /** The problem document with `code` and `retryAfterMs`, for messages, which have no headers. */
  getError(): object {
    return { ...(this.getResponse() as object), ...this.extensions };
  }
}

function codeOf({ status, binding }: Admission): RejectionExtensions['code'] {
  if (status === 429) return 'RATE_LIMITED';
  if (status === 403) return 'FORBIDDEN';
  if (status < 500) return 'BAD_REQUEST';
  const { reason } = binding ?? {};
  return reason === 'capacity' || reason === 'overload' ? 'OVERLOADED' : 'UNAVAILABLE';
}
