/** What the module can be told. */

import type { ExecutionContext, FactoryProvider, ModuleMetadata } from '@nestjs/common';
import type { Admission, GuardOptions, Limiter } from '@spillway/core';
import type { AddressOptions, NamesOf, OwnNames } from '@spillway/core/adapter';

/** The options of the module, and of the guards that it makes: all of `createGuard`'s. */
export interface SpillwayOptions extends GuardOptions<ExecutionContext>, AddressOptions {
  /** The limiters of every handler; decorators add to them, and override those of the same name. Default: none. */
  readonly limiters?: readonly Limiter<ExecutionContext>[] | undefined;
  /**
   * How an HTTP request is rejected. `answer` (default): the guard itself sends the problem document, the same bytes as
   * with every framework, and neither interceptors nor exception filters see the request. `throw`: a
   * {@link SpillwayException} goes to the exception filters. Where there is no HTTP response of its own (GraphQL,
   * WebSockets, RPC), it is always thrown.
   */
  readonly rejection?: 'answer' | 'throw' | undefined;
  /**
   * Makes what is thrown, as in `({ body }) => new RpcException(JSON.parse(body))`. Default: a
   * {@link SpillwayException}. Clients of a WebSocket gateway get what its `getError()` or `getResponse()` returns, or
   * its message.
   */
  readonly exception?: ((admission: Admission, context: ExecutionContext) => Error) | undefined;
}

/** What must be known before the options are. */
export interface SpillwayModuleSettings {
  /**
   * Whether the guard stands before every handler, or only where `@UseGuards(SpillwayGuard)` puts it: behind a guard of
   * a controller that authenticates, for example. Default true.
   */
  readonly globalGuard?: boolean | undefined;
}

export const MODULE_OPTIONS: OwnNames<SpillwayOptions & SpillwayModuleSettings> = {
  limiters: 1,
  rejection: 1,
  exception: 1,
  globalGuard: 1, // where the options are those of `forRoot`
};

/** Options that come out of other providers: clients, configuration, metrics. */
export interface SpillwayAsyncOptions extends SpillwayModuleSettings {
  /** Modules that export what is injected. */
  readonly imports?: NonNullable<ModuleMetadata['imports']> | undefined;
  /** Tokens of what the factory is given, in its order. */
  readonly inject?: NonNullable<FactoryProvider['inject']> | undefined;
  /** Gives the options of `forRoot`; it may be async. */
  readonly useFactory: (...injected: never[]) => SpillwayOptions | Promise<SpillwayOptions>;
}

export const ASYNC_OPTIONS: NamesOf<SpillwayAsyncOptions> = {
  globalGuard: 1,
  imports: 1,
  inject: 1,
  useFactory: 1,
};

/** Injects the options as they were given to the module. */
export const SPILLWAY_OPTIONS: unique symbol = Symbol.for('spillway.nestjs.options');

/** Injects the store of the module: for limiters of your own, as in `createLimiter(rule, { store })`. */
export const SPILLWAY_STORE: unique symbol = Symbol.for('spillway.nestjs.store');
