/** The module: takes the options, provides the guard and the store. */

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
import { checkOptions, checkStore } from '@spillway/core/adapter';
import { checkHandlers, checkRegistration } from './check-app.js';
import { NestGate } from './gate.js';
import { SpillwayGuard } from './guard.js';
import {
  SPILLWAY_OPTIONS,
  SPILLWAY_STORE,
  type SpillwayAsyncOptions,
  type SpillwayModuleSettings,
  type SpillwayOptions,
} from './options.js';

/**
 * Puts the guard before every handler of an app. To be imported once, in its root module.
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

  /** With options at hand. Wrong ones throw a SpillwayError when the app is made. */
  static forRoot(options: SpillwayOptions & SpillwayModuleSettings = {}): DynamicModule {
    checkOptions(options);
    return describeModule(options, [], { provide: SPILLWAY_OPTIONS, useValue: options });
  }

  /**
   * With options out of other providers.
   *
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
    checkOptions(options);
    const { imports = [], inject = [], useFactory } = options;
    return describeModule(options, imports, {
      provide: SPILLWAY_OPTIONS,
      inject,
      useFactory: useFactory as (...injected: unknown[]) => SpillwayOptions,
    });
  }

  /** @throws SpillwayError `SPW_REGISTERED_TWICE`, and for decorators that do not go together */
  onModuleInit(): void {
    checkRegistration(this.modules, SpillwayModule);
    checkHandlers(this.modules, this.gate.handlers);
  }

  /** Permits held now by all handlers of this process: a gauge. */
  get inProgress(): number {
    return this.gate.handlers.inProgress;
  }

  /** Gives back what is still held, once the server takes no more requests. */
  onApplicationShutdown(): Promise<void> {
    return this.gate.handlers.close();
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
  const providers: Provider[] = [
    options,
    {
      provide: SPILLWAY_STORE,
      inject: [SPILLWAY_OPTIONS],
      useFactory: ({ store }: SpillwayOptions) =>
        store === undefined ? memoryStore() : checkStore(store),
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
