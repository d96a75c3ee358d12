import type { ExecutionContext, FactoryProvider, ModuleMetadata } from '@nestjs/common';
import type { Admission, GuardOptions, Limiter } from '@spillway/core';
import type { AddressOptions, NamesOf, OwnNames } from '@spillway/core/adapter';

/** The options of the module, which include all options of `createGuard`. */
export interface SpillwayOptions extends GuardOptions<ExecutionContext>, AddressOptions {
  /** The limiters of every handler. Decorators add limiters, or override those of the same name. Default: none. */
  readonly limiters?: readonly Limiter<ExecutionContext>[] | undefined;
  /**
   * How an HTTP request is rejected: `answer` (default) sends the problem document, which interceptors and exception
   * filters don't see; `throw` gives exception filters a {@link SpillwayException}. GraphQL, WebSockets and RPC always
   * throw.
   */
  readonly rejection?: 'answer' | 'throw' | undefined;
  /**
   * Makes the exception to throw, as in `({ body }) => new RpcException(JSON.parse(body))`. WebSocket clients get its
   * `getError()`, `getResponse()` or message. Default: a {@link SpillwayException}.
   */
  readonly exception?: ((admission: Admission, context: ExecutionContext) => Error) | undefined;
}

/** Settings that are needed before `useFactory` has returned the options. */
export interface SpillwayModuleSettings {
  /**
   * Whether the guard runs before every handler except those of gateways (default true), or only where
   * `@UseGuards(SpillwayGuard)` binds it.
   */
  readonly globalGuard?: boolean | undefined;
}

export const MODULE_OPTIONS: OwnNames<SpillwayOptions & SpillwayModuleSettings> = {
  limiters: 1,
  rejection: 1,
  exception: 1,
  globalGuard: 1, // `forRoot` takes it together with the options
};

/** Options from other providers: clients, configuration, metrics. */
export interface SpillwayAsyncOptions extends SpillwayModuleSettings {
  /** Modules that export the injected providers. */
  readonly imports?: NonNullable<ModuleMetadata['imports']> | undefined;
  /** Tokens of the factory's arguments, in order. */
  readonly inject?: NonNullable<FactoryProvider['inject']> | undefined;
  /** Returns the options of `forRoot`; may be async. */
  readonly useFactory: (...injected: never[]) => SpillwayOptions | Promise<SpillwayOptions>;
}

export const ASYNC_OPTIONS: NamesOf<SpillwayAsyncOptions> = {
  globalGuard: 1,
  imports: 1,
  inject: 1,
  useFactory: 1,
};

/** The token by which an app injects the options of the module. */
export const SPILLWAY_OPTIONS: unique symbol = Symbol.for('spillway.nestjs.options');

/** The token by which an app injects the module's store, for its own limiters: `createLimiter(rule, { store })`. */
export const SPILLWAY_STORE: unique symbol = Symbol.for('spillway.nestjs.store');
