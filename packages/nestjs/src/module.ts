import {
  type DynamicModule,
  Inject,
  Module,
  type OnApplicationShutdown,
  type OnModuleInit,
  type Provider,
} from '@nestjs/common';
import { APP_GUARD, ModulesContainer } from '@nestjs/core';
import { memoryStore } from '@spillway/core';
import { checkOptions, checkStore, mustBe } from '@spillway/core/adapter';
import { checkHandlers, checkRegistration } from './check-app.js';
import { describeFeature } from './feature.js';
import type { SpillwayFeature } from './feature-options.js';
import { checkModuleOptions, NestGate } from './gate.js';
import { SpillwayGuard } from './guard.js';
import {
  ASYNC_OPTIONS,
  SPILLWAY_OPTIONS,
  SPILLWAY_STORE,
  type SpillwayAsyncOptions,
  type SpillwayModuleSettings,
  type SpillwayOptions,
} from './module-options.js';

/**
 * By default, runs the guard before every handler of an app, except those of gateways. Import it once, in the root
 * module.
 *
 * @example
 * ```ts
 * import { Module } from '@nestjs/common';
 * import { rateLimit, SpillwayModule } from '@spillway/nestjs';
 *
 * @Module({
 *   imports: [SpillwayModule.forRoot({ limiters: [rateLimit({ limit: 100, window: '1m' })] })],
 * })
 * class AppModule {}
 * ```
 */
export class SpillwayModule implements OnModuleInit, OnApplicationShutdown {
  private readonly gate: NestGate;
  private readonly modules: ModulesContainer;

  constructor(gate: NestGate, modules: ModulesContainer) {
    this.gate = gate;
    this.modules = modules;
  }

  /**
   * The module with fixed options.
   *
   * @throws SpillwayError `SPW_STORE_INVALID`, `SPW_OPTION_INVALID`, `SPW_OPTION_UNKNOWN`. A wrong limiter or
   * `trustProxy` throws when the app is created
   */
  static forRoot(options: SpillwayOptions & SpillwayModuleSettings = {}): DynamicModule {
    checkModuleOptions(options);
    return describeModule(options, [], { provide: SPILLWAY_OPTIONS, useValue: options });
  }

  /**
   * The module with options from other providers.
   *
   * @throws SpillwayError `SPW_OPTION_INVALID`, `SPW_OPTION_UNKNOWN`. Errors of `useFactory`, and wrong options that it
   * returns, are thrown when the app is created
   * @example
   * ```ts
   * import { rateLimit, SpillwayModule } from '@spillway/nestjs';
   * import { redisStore } from '@spillway/redis';
   * import { Redis } from 'ioredis';
   *
   * SpillwayModule.forRootAsync({
   *   inject: [Redis],
   *   useFactory: (redis: Redis) => ({
   *     store: redisStore(redis),
   *     limiters: [rateLimit({ name: 'per-address', limit: 100, window: '1m' })],
   *   }),
   * });
   * ```
   */
  static forRootAsync(options: SpillwayAsyncOptions): DynamicModule {
    checkOptions(options, 'forRootAsync()', ASYNC_OPTIONS);
    if (typeof options.useFactory !== 'function') {
      throw mustBe('useFactory', 'a function', options.useFactory);
    }
    const { imports = [], inject = [], useFactory } = options;
    const checked = async (...injected: never[]): Promise<SpillwayOptions> => {
      const made: SpillwayOptions & SpillwayModuleSettings = await useFactory(...injected);
      checkOptions(made);
      if (made.globalGuard === undefined) return made;
      const where = 'set beside useFactory, not in the options that it returns';
      throw mustBe('globalGuard', where, made.globalGuard);
    };
    return describeModule(options, imports, {
      provide: SPILLWAY_OPTIONS,
      inject,
      // Nest tells modules apart by the text of their functions.
      useFactory: Object.assign(checked, { toString: () => String(useFactory) }),
    });
  }

  /**
   * Shapers and limiters for the providers of a module, by name. They use the store of `forRoot`, and by default its
   * store settings; shapers don't get its `onStoreError`. When the app closes, the shapers are closed after the server
   * has stopped.
   *
   * To use them in several modules, keep the returned module, import it in one module, and list it in that module's
   * `exports`. Two features that declare the same name share its count in the store, but not its queue.
   *
   * @throws SpillwayError `SPW_OPTION_INVALID`, `SPW_OPTION_UNKNOWN`, and as `createLimiter`, `createLimiters` or a
   * shaper's function does. Errors that concern the store are thrown when the app is created
   * @example
   * ```ts
   * import { Module } from '@nestjs/common';
   * import { SpillwayModule } from '@spillway/nestjs';
   * import { createShaper } from '@spillway/outgoing';
   *
   * @Module({
   *   imports: [
   *     SpillwayModule.forFeature({
   *       shapers: {
   *         acme: (settings, name) =>
   *           createShaper({ name, limit: 4, window: '1s' }, { ...settings, localShare: 1 / 8 }),
   *       },
   *       limiters: {
   *         failures: { limit: 5, window: '15m' },
   *         sending: { limits: { customer: { limit: 100, window: '1h' }, carrier: { limit: 2, window: '1s' } } },
   *       },
   *     }),
   *   ],
   * })
   * class MessagesModule {}
   * ```
   */
  static forFeature(feature: SpillwayFeature): DynamicModule {
    return describeFeature(feature);
  }

  /** @throws SpillwayError `SPW_REGISTERED_TWICE`, and for conflicting decorators */
  onModuleInit(): void {
    checkRegistration(this.modules, SpillwayModule);
    checkHandlers(this.modules, this.gate.handlers);
  }

  /** How many permits the handlers of this process hold. */
  get inProgress(): number {
    return this.gate.handlers.inProgress;
  }

  /** Releases permits that are still held, after the server has stopped. */
  onApplicationShutdown(): Promise<void> {
    return this.gate.handlers.closeGates();
  }
}

Module({})(SpillwayModule);
Inject(NestGate)(SpillwayModule, undefined, 0);
Inject(ModulesContainer)(SpillwayModule, undefined, 1);

function describeModule(
  { globalGuard = true }: SpillwayModuleSettings,
  imports: NonNullable<SpillwayAsyncOptions['imports']>,
  options: Provider,
): DynamicModule {
  if (typeof globalGuard !== 'boolean') throw mustBe('globalGuard', 'true or false', globalGuard);
  const providers: Provider[] = [
    options,
    {
      provide: SPILLWAY_STORE,
      inject: [SPILLWAY_OPTIONS],
      useFactory: ({ store, clock }: SpillwayOptions) =>
        store === undefined ? memoryStore({ clock }) : checkStore(store),
    },
    NestGate,
    SpillwayGuard,
  ];
  if (globalGuard) providers.push({ provide: APP_GUARD, useExisting: SpillwayGuard });
  return {
    module: SpillwayModule,
    global: true,
    imports,
    providers,
    exports: [SPILLWAY_OPTIONS, SPILLWAY_STORE, NestGate, SpillwayGuard],
  };
}
