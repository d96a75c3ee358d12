import {
  type DynamicModule,
  Inject,
  Module,
  type OnApplicationShutdown,
  type Provider,
} from '@nestjs/common';
import {
  createLimiter,
  createLimiters,
  type KeyedLimiter,
  type KeyedLimiterOptions,
  type Limiters,
  memoryStore,
  type Store,
} from '@spillway/core';
import { checkOptions, mustBe } from '@spillway/core/adapter';
import { within } from '@spillway/core/store';
import {
  FEATURE_LIMITERS,
  FEATURE_OPTIONS,
  type FeatureLimiter,
  type FeatureLimiters,
  type FeatureShaper,
  type SpillwayFeature,
} from './feature-options.js';
import { SPILLWAY_OPTIONS, SPILLWAY_STORE, type SpillwayOptions } from './module-options.js';

/** The token of a declared shaper: for `app.get()`, and for `overrideProvider()` in tests. */
export function getShaperToken(name: string): string {
  return `spillway.shaper.${name}`;
}

/**
 * The token of a declared limiter or group of limiters: for `app.get()`, and for `overrideProvider()` in tests.
 */
export function getLimiterToken(name: string): string {
  return `spillway.limiter.${name}`;
}

/**
 * Injects the `Shaper` that `SpillwayModule.forFeature` declares under this name.
 *
 * @example
 * ```ts
 * import { Injectable } from '@nestjs/common';
 * import { InjectShaper } from '@spillway/nestjs';
 * import type { Shaper } from '@spillway/outgoing';
 *
 * @Injectable()
 * class Messages {
 *   @InjectShaper('acme') readonly acme!: Shaper;
 *
 *   send(account: string, text: string) {
 *     return this.acme.schedule(account, () => fetch('https://acme.example/send', { method: 'POST', body: text }));
 *   }
 * }
 * ```
 */
export function InjectShaper(name: string): PropertyDecorator & ParameterDecorator {
  return Inject(getShaperToken(name));
}

/**
 * Injects the `KeyedLimiter` that `SpillwayModule.forFeature` declares under this name, or the `Limiters` if it
 * declares several. With a store such as Redis, their methods return promises.
 *
 * @example
 * ```ts
 * import { Injectable } from '@nestjs/common';
 * import { InjectLimiter, type KeyedLimiter, type Limiters, type Store } from '@spillway/nestjs';
 *
 * @Injectable()
 * class Logins {
 *   @InjectLimiter('failures') readonly failures!: KeyedLimiter<Store>;
 *   @InjectLimiter('sending') readonly sending!: Limiters<'customer' | 'carrier', Store>;
 * }
 * ```
 */
export function InjectLimiter(name: string): PropertyDecorator & ParameterDecorator {
  return Inject(getLimiterToken(name));
}

/** A separate class, because the module of `forRoot` may exist only once, but this one exists once per feature. */
class SpillwayFeatureModule {}

Module({})(SpillwayFeatureModule);

export function describeFeature(feature: SpillwayFeature): DynamicModule {
  checkOptions(feature, 'forFeature()', FEATURE_OPTIONS);
  new Made(feature, {}, memoryStore()); // wrong options throw here, not when the app is created
  const tokens = [
    ...Object.keys(feature.shapers ?? {}).map(getShaperToken),
    ...Object.keys(feature.limiters ?? {}).map(getLimiterToken),
  ];
  const providers = tokens.map(
    (token): Provider => ({
      provide: token,
      inject: [Made],
      useFactory: (made: Made) => made.byToken.get(token),
    }),
  );
  return {
    module: SpillwayFeatureModule,
    // Nest merges dynamic modules that look equal. The feature as a value keeps them distinct.
    providers: [{ provide: FEATURE, useValue: feature }, Made, ...providers],
    exports: tokens,
  };
}

const FEATURE: unique symbol = Symbol.for('spillway.nestjs.feature');

const LONGEST_SHUTDOWN_MS = 5_000;

class Made implements OnApplicationShutdown {
  readonly byToken = new Map<
    string,
    FeatureShaper | KeyedLimiter<Store> | Limiters<string, Store>
  >();
  private readonly shapers: FeatureShaper[] = [];
  private readonly settings: KeyedLimiterOptions<Store>;

  constructor(feature: SpillwayFeature, module: SpillwayOptions, store: Store) {
    const { storeTimeout, breaker, logger, validate, clock, control, observers, onFault } = module;
    // Shapers don't get the module's `onStoreError`, which is for requests that can't wait.
    const reporting = { logger, validate, observers, onFault };
    const forShapers = { storeTimeout, breaker, clock, control, store, ...reporting };
    const { onStoreError, denialCache } = module;
    this.settings = { ...forShapers, onStoreError, denialCache };
    for (const [name, make] of Object.entries(feature.shapers ?? {})) {
      if (typeof make !== 'function') throw mustBe(`shaper "${name}"`, 'a function', make);
      const shaper = make(forShapers, name);
      this.shapers.push(shaper);
      this.byToken.set(getShaperToken(name), shaper);
    }
    for (const [name, options] of Object.entries(feature.limiters ?? {})) {
      this.byToken.set(getLimiterToken(name), this.limiter(name, options));
    }
  }

  /** Closes the shapers after the server has stopped, because requests in flight use them until then. */
  async onApplicationShutdown(): Promise<void> {
    // A job that never ends must not keep the app from closing.
    await within(LONGEST_SHUTDOWN_MS, Promise.all(this.shapers.map((shaper) => shaper.close())));
  }

  private limiter(
    name: string,
    options: FeatureLimiter | FeatureLimiters,
  ): KeyedLimiter<Store> | Limiters<string, Store> {
    checkOptions(options);
    const { onStoreError, localShare, storeTimeout, ...rules } = options;
    const settings: KeyedLimiterOptions<Store> = {
      ...this.settings,
      storeTimeout: storeTimeout ?? this.settings.storeTimeout,
      onStoreError: onStoreError ?? this.settings.onStoreError,
      localShare,
    };
    if (!('limits' in rules)) return createLimiter({ ...rules, name }, settings);
    checkOptions(options as FeatureLimiters, `"${name}" of forFeature()`, FEATURE_LIMITERS);
    return createLimiters(rules.limits, settings);
  }
}

Inject(FEATURE)(Made, undefined, 0);
Inject(SPILLWAY_OPTIONS)(Made, undefined, 1);
Inject(SPILLWAY_STORE)(Made, undefined, 2);
