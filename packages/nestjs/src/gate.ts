/** What the guard and the interceptor share: asks the core guard of a handler, and applies what it says. */

import { type ExecutionContext, Inject } from '@nestjs/common';
import { type Admission, type Limiter, SpillwayError, type Store } from '@spillway/core';
import {
  checkIpv6Prefix,
  compileTrust,
  mustBe,
  rememberAdmission,
  type Trust,
  tellFault,
} from '@spillway/core/adapter';
import { releaseOnClose } from '@spillway/core/node';
import { SpillwayException } from './exception.js';
import { type Exchange, nodeRequest, nodeResponse, type PlatformResponse } from './exchange.js';
import { HandlerGuards } from './handler-guards.js';
import { SPILLWAY_OPTIONS, SPILLWAY_STORE, type SpillwayOptions } from './options.js';
import { answer, tell } from './reply.js';
import { NestRequest } from './request.js';

type Asked = Admission | Promise<Admission> | undefined;

export class Gate {
  readonly guards: HandlerGuards;
  private readonly trust: Trust;
  private toldTwice = false;
  private readonly options: SpillwayOptions;

  /** @throws SpillwayError for wrong options */
  constructor(options: SpillwayOptions, store: Store) {
    this.options = options;
    const { limiters = [], trustProxy, ipv6Prefix, refuse = 'answer' } = options;
    if (ipv6Prefix !== undefined) checkIpv6Prefix(ipv6Prefix);
    if (refuse !== 'answer' && refuse !== 'throw') {
      throw mustBe('refuse', 'answer or throw', refuse);
    }
    this.trust = compileTrust(trustProxy);
    this.guards = new HandlerGuards(options.store ? limiters : limiters.map(named), {
      ...options,
      store,
    });
  }

  /** Asks about a call; undefined if nothing limits it. Never throws. */
  ask(context: ExecutionContext, exchange: Exchange): Asked {
    try {
      const guard = this.guards.of(context.getHandler(), context.getClass());
      return guard?.admit(new NestRequest(context, exchange, this.trust, this.options.ipv6Prefix));
    } catch (error) {
      this.report(error);
      return undefined;
    }
  }

  /**
   * Applies an admission, except that without a response the caller releases it.
   *
   * @returns whether the call goes on; false if it was answered
   * @throws the exception of a refusal that is not answered
   */
  apply(admission: Admission, context: ExecutionContext, exchange: Exchange): boolean {
    const { response } = exchange;
    const answers = exchange.own && this.options.refuse !== 'throw';
    try {
      if (response) this.applyTo(response, admission, exchange, answers);
    } catch (error) {
      this.report(error);
      return true;
    }
    if (admission.allowed) return true;
    if (answers) return false;
    throw this.options.exception?.(admission, context) ?? new SpillwayException(admission);
  }

  /** Tells once, for it is a matter of how the app is put together. */
  tellTwice(context: ExecutionContext): void {
    if (this.toldTwice) return;
    this.toldTwice = true;
    this.report(
      new SpillwayError(
        'SPW_REGISTERED_TWICE',
        `the guard is bound twice to ${context.getClass().name}.${context.getHandler().name}, which was counted once: leave out @UseGuards(SpillwayGuard), or set globalGuard to false`,
      ),
    );
  }

  /** An exception of our own must not fail a call, and must not pass in silence. */
  report(error: unknown): void {
    tellFault(this.options.onFault, { limiter: '', source: 'adapter', error }, this.options.logger);
  }

  private applyTo(
    response: PlatformResponse,
    admission: Admission,
    exchange: Exchange,
    answers: boolean,
  ): void {
    const request = exchange.request ?? {};
    rememberAdmission(request, admission);
    if (admission.pending) {
      releaseOnClose(admission, nodeRequest(request), nodeResponse(response));
    }
    if (answers && !admission.allowed) answer(admission, response);
    else tell(admission, response, exchange.own);
  }
}

Inject(SPILLWAY_OPTIONS)(Gate, undefined, 0);
Inject(SPILLWAY_STORE)(Gate, undefined, 1);

/** In a store that is the module's own, the numbers that name a limiter without a name are enough. */
function named(limiter: Limiter<ExecutionContext>): Limiter<ExecutionContext> {
  if (limiter?.kind !== 'stored' || limiter.named) return limiter;
  return Object.create(limiter, { named: { value: true } }) as typeof limiter;
}
