import {
  type CallHandler,
  type ExecutionContext,
  Inject,
  type NestInterceptor,
  Optional,
} from '@nestjs/common';
import { Observable, tap } from 'rxjs';
import { callOf, DROP } from './call.js';
import { NestGate } from './gate.js';
import { setStage, stageOf } from './judged.js';
import { MessageExchange } from './nest-exchange.js';

/**
 * Releases permits, and settles metered costs, when the handler of a message (WebSockets, RPC) or of a GraphQL
 * subscription ends. Ends the claim of an idempotency key when Nest drops the handler's Observable, because the client
 * has left. `@ConcurrencyLimit`, `@Idempotent`, and `@RateLimit` with a meter as its cost, bind this interceptor. Bind
 * it yourself if such a limit is one of the module's `limiters`.
 *
 * @example
 * ```ts
 * import { UseInterceptors } from '@nestjs/common';
 * import { SpillwayInterceptor } from '@spillway/nestjs';
 *
 * @UseInterceptors(SpillwayInterceptor)
 * class CatsGateway {}
 * ```
 */
export class SpillwayInterceptor implements NestInterceptor {
  private readonly gate: NestGate | undefined;

  constructor(gate: NestGate | undefined) {
    this.gate = gate;
  }

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const { gate } = this;
    const call = callOf(context);
    const unsubscribe = call.request?.[DROP];
    if (unsubscribe) return next.handle().pipe(tap({ unsubscribe }));
    if (!gate || stageOf(context) !== 'deferred') return next.handle();
    setStage(context, 'judged');
    return new Observable((subscriber) => {
      const exchange = new MessageExchange();
      subscriber.add(() => exchange.releasePermits());
      const enter = async (): Promise<void> => {
        const goesOn = await gate.enter(context, call, exchange);
        if (goesOn) next.handle().subscribe(subscriber);
      };
      enter().catch((error: unknown) => subscriber.error(error));
    });
  }
}

Optional()(SpillwayInterceptor, undefined, 0);
Inject(NestGate)(SpillwayInterceptor, undefined, 0);
