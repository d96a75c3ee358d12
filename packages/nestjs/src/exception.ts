/** A refusal as an exception, for the contexts and the apps that want one. */

import { HttpException } from '@nestjs/common';
import type { Admission } from '@spillway/core';

/**
 * Thrown for a refused call where it cannot be answered directly, and for every one with `refuse: 'throw'`. Its
 * response is the problem document, its status that of the refusal, such as 429.
 *
 * @example
 * ```ts
 * import { type ArgumentsHost, Catch, type ExceptionFilter } from '@nestjs/common';
 * import { SpillwayException } from '@spillway/nestjs';
 *
 * class RefusalFilter implements ExceptionFilter {
 *   catch({ admission }: SpillwayException, host: ArgumentsHost): void {
 *     const response = host.switchToHttp().getResponse();
 *     response.status(admission.status).json({ sorry: admission.binding?.limiter });
 *   }
 * }
 * Catch(SpillwayException)(RefusalFilter);
 * ```
 */
export class SpillwayException extends HttpException {
  readonly admission: Admission;

  constructor(admission: Admission) {
    const problem = JSON.parse(admission.body) as Record<string, unknown>;
    super(problem, admission.status);
    this.name = 'SpillwayException';
    this.message = String(problem['detail'] ?? problem['title']);
    this.admission = admission;
  }

  /** The problem document, under the name that exceptions of WebSockets and RPC have for it. */
  getError(): string | object {
    return this.getResponse();
  }
}
