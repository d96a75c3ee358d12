import { type ExecutionContext, Inject } from '@nestjs/common';
import { type Limiter, SpillwayError, type Store } from '@spillway/core';
import {
  type Addressing,
  checkGateOptions,
  compileAddressing,
  isLater,
  mustBe,
  Notices,
  type Passage,
  tellAdapterFault,
} from '@spillway/core/adapter';
import { type Call, handlerName } from './call.js';
import { SpillwayException } from './exception.js';
import { rejectedMessage } from './gateway.js';
import { HandlerGates } from './handler-gates.js';
import {
  MODULE_OPTIONS,
  SPILLWAY_OPTIONS,
  SPILLWAY_STORE,
  type SpillwayOptions,
} from './module-options.js';
import { HttpExchange, MessageExchange } from './nest-exchange.js';
import { NestRequest } from './nest-request.js';

/**
 * Warnings recommend this in place of a number of proxies. It mentions Express and Fastify, because users may expect
 * that the setting of their platform applies.
 */
const ADDRESSES = 'a list of their addresses (the setting of Express or Fastify is not read)';

export class NestGate {
  readonly handlers: HandlerGates;
  private readonly addressing: Addressing;
  private isTwiceReported = false;
  private readonly options: SpillwayOptions;

  constructor(options: SpillwayOptions, store: Store) {
    checkModuleOptions(options);
    this.options = options;
    const { limiters = [] } = options;
    this.addressing = compileAddressing(options, new Notices(options), ADDRESSES);
    this.handlers = new HandlerGates(options.store ? limiters : limiters.map(named), {
      ...options,
      store,
    });
  }

  exchangeOf({ request, response, ownsResponse }: Call): HttpExchange | MessageExchange {
    if (!response) return new MessageExchange();
    return new HttpExchange(
      request ?? {},
      response,
      ownsResponse,
      ownsResponse && this.options.rejection !== 'throw',
    );
  }

  /**
   * @returns whether the call continues; if not, it was answered, or its caller is gone
   * @throws (or rejects with) the exception of a rejection that was not answered
   */
  enter(
    context: ExecutionContext,
    call: Call,
    exchange: HttpExchange | MessageExchange,
  ): boolean | Promise<boolean> {
    const passage = this.decideCall(context, call, exchange);
    return isLater(passage)
      ? passage.then((value) => this.goesOn(value, context, exchange))
      : this.goesOn(passage, context, exchange);
  }

  tellTwice(context: ExecutionContext): void {
    if (this.isTwiceReported) return;
    this.isTwiceReported = true;
    this.report(
      new SpillwayError(
        'SPW_REGISTERED_TWICE',
        `the guard is bound twice to ${handlerName(context)}, which was counted once: remove ` +
          '@UseGuards(SpillwayGuard), or set globalGuard to false',
      ),
    );
  }

  tellUnwatched(context: ExecutionContext): void {
    this.report(
      new SpillwayError(
        'SPW_INTERCEPTOR_MISSING',
        `the end of ${handlerName(context)} can't be seen, so its permit was released at its start: ` +
          'add @UseInterceptors(SpillwayInterceptor)',
      ),
    );
  }

  private decideCall(
    context: ExecutionContext,
    call: Call,
    exchange: HttpExchange | MessageExchange,
  ): Passage | Promise<Passage> {
    try {
      const gate = this.handlers.gateFor(context.getHandler(), context.getClass());
      if (!gate) return 'pass';
      const request = new NestRequest(context, call, this.addressing);
      // On the client's object, the admissions of a connection's messages would accumulate. An exchange ends with its
      // call.
      const holder = call.response && call.request ? call.request : exchange;
      return gate.decide(request, exchange, holder);
    } catch (error) {
      this.report(error); // such as an error about conflicting decorators
      return 'pass';
    }
  }

  private goesOn(
    passage: Passage,
    context: ExecutionContext,
    { unanswered }: HttpExchange | MessageExchange,
  ): boolean {
    if (!unanswered) return passage === 'pass';
    const error =
      this.options.exception?.(unanswered, context) ?? new SpillwayException(unanswered);
    throw context.getType() === 'ws' ? rejectedMessage(error, context) : error;
  }

  /** For faults outside of any handler's gate. */
  private report(error: unknown): void {
    tellAdapterFault(this.options, error);
  }
}

Inject(SPILLWAY_OPTIONS)(NestGate, undefined, 0);
Inject(SPILLWAY_STORE)(NestGate, undefined, 1);

export function checkModuleOptions(options: SpillwayOptions): void {
  checkGateOptions(options, MODULE_OPTIONS);
  const { limiters = [], rejection = 'answer', exception } = options;
  if (!Array.isArray(limiters)) throw mustBe('limiters', 'a list of limiters', limiters);
  if (rejection !== 'answer' && rejection !== 'throw') {
    throw mustBe('rejection', 'answer or throw', rejection);
  }
  if (exception !== undefined && typeof exception !== 'function') {
    throw mustBe('exception', 'a function', exception);
  }
}

/**
 * A guard requires limiters with a store to have explicit names. This function exempts limiters that use the module's
 * own memory store.
 */
function named(limiter: Limiter<ExecutionContext>): Limiter<ExecutionContext> {
  if (limiter?.kind !== 'stored' || limiter.named) return limiter;
  return Object.create(limiter, { named: { value: true } }) as typeof limiter;
}
