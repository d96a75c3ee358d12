import { type CanActivate, type ExecutionContext, Inject } from '@nestjs/common';
import { isLater } from '@spillway/core/adapter';
import { callOf } from './call.js';
import { NestGate } from './gate.js';
import { SpillwayInterceptor } from './interceptor.js';
import { setStage, stageOf } from './judged.js';
import { hasInterceptor } from './metadata.js';
import { type HttpExchange, MessageExchange } from './nest-exchange.js';

/**
 * A call passes if every limiter of its handler admits it. The module binds this guard to all handlers except those of
 * gateways. Bind it yourself there, and with `globalGuard: false`, for example after the guard that authenticates the
 * user:
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
  private readonly gate: NestGate;

  constructor(gate: NestGate) {
    this.gate = gate;
  }

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const { gate } = this;
    if (stageOf(context) === 'judged') {
      gate.tellTwice(context);
      return true;
    }
    const call = callOf(context);
    if (!call.response && hasInterceptor(context, SpillwayInterceptor)) {
      setStage(context, 'deferred');
      return true;
    }
    setStage(context, 'judged');
    const exchange = gate.exchangeOf(call);
    const goesOn = gate.enter(context, call, exchange);
    return isLater(goesOn)
      ? goesOn.then((value) => this.settleCall(value, context, exchange))
      : this.settleCall(goesOn, context, exchange);
  }

  private settleCall(
    goesOn: boolean,
    context: ExecutionContext,
    exchange: HttpExchange | MessageExchange,
  ): boolean | Promise<boolean> {
    if (exchange instanceof MessageExchange && exchange.releasePermits())
      this.gate.tellUnwatched(context);
    return goesOn || ended();
  }
}

Inject(NestGate)(SpillwayGuard, undefined, 0);

/**
 * Stops a call that was answered. On `false`, Nest would throw a ForbiddenException, which catch-all filters would try
 * to answer a second time. So this promise never settles, and is garbage collected.
 */
function ended(): Promise<never> {
  return new Promise(() => undefined);
}
