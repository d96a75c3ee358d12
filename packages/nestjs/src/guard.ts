/** The guard: stands before handlers, and decides nothing itself. */

import { type CanActivate, type ExecutionContext, Inject } from '@nestjs/common';
import { type Admission, SpillwayError } from '@spillway/core';
import { isGone } from '@spillway/core/node';
import { type Exchange, exchangeOf, nodeRequest, nodeResponse } from './exchange.js';
import { Gate } from './gate.js';
import { SpillwayInterceptor } from './interceptor.js';
import { setStage, stageOf } from './judged.js';
import { hasInterceptor } from './metadata.js';

/**
 * Lets pass what every limiter of a handler lets pass. The module binds it for all handlers; with `globalGuard: false`
 * you bind it, as here
 * behind the guard that knows the user.
 *
 * @example
 * ```ts
 * import { type CanActivate, Controller, UseGuards } from '@nestjs/common';
 * import { RateLimit, requestOf, SpillwayGuard } from '@spillway/nestjs';
 *
 * declare const AuthGuard: new () => CanActivate;
 *
 * @Controller('exports')
 * @UseGuards(AuthGuard, SpillwayGuard)
 * @RateLimit({ limit: 5, window: '1h', key: ({ raw }) => requestOf<{ user?: { id: string } }>(raw).user?.id })
 * class ExportsController {}
 * ```
 */
export class SpillwayGuard implements CanActivate {
  private readonly gate: Gate;

  constructor(gate: Gate) {
    this.gate = gate;
  }

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    if (stageOf(context) === 'judged') {
      this.gate.tellTwice(context);
      return true;
    }
    const exchange = exchangeOf(context);
    if (!exchange.response && hasInterceptor(context, SpillwayInterceptor)) {
      setStage(context, 'deferred');
      return true;
    }
    setStage(context, 'judged');
    const asked = this.gate.ask(context, exchange);
    if (asked === undefined) return true;
    if (!('then' in asked)) return this.apply(asked, context, exchange);
    return asked.then(
      (admission) => {
        if (!hasGone(exchange)) return this.apply(admission, context, exchange);
        admission.release({ aborted: true });
        return ended();
      },
      (error: unknown) => {
        this.gate.report(error);
        return true;
      },
    );
  }

  private apply(
    admission: Admission,
    context: ExecutionContext,
    exchange: Exchange,
  ): boolean | Promise<boolean> {
    const passes = this.gate.apply(admission, context, exchange);
    if (admission.pending && !exchange.response) {
      admission.release({});
      this.gate.report(
        new SpillwayError(
          'SPW_INTERCEPTOR_MISSING',
          `nobody sees the end of ${context.getClass().name}.${context.getHandler().name}, so its permit was given back at its beginning: bind it with @UseInterceptors(SpillwayInterceptor)`,
        ),
      );
    }
    return passes || ended();
  }
}

Inject(Gate)(SpillwayGuard, undefined, 0);

function hasGone({ request, response }: Exchange): boolean {
  return response !== undefined && isGone(nodeRequest(request ?? {}), nodeResponse(response));
}

/**
 * A call that has its answer stops here. To return false would have Nest throw a ForbiddenException, which filters for
 * everything would try to
 * answer a second time; a promise that never settles is simply collected.
 */
function ended(): Promise<never> {
  return new Promise(() => undefined);
}
