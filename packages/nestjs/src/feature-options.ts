import type { KeyedLimiterOptions, RuleOptions, Store } from '@spillway/core';
import type { NamesOf } from '@spillway/core/adapter';

/** The settings that the module passes to the shapers of a feature. */
export interface FeatureShaperSettings
  extends Pick<
    KeyedLimiterOptions<Store>,
    | 'store'
    | 'storeTimeout'
    | 'breaker'
    | 'logger'
    | 'validate'
    | 'clock'
    | 'control'
    | 'observers'
    | 'onFault'
  > {}

/** A `Shaper` of @spillway/outgoing, which is closed with the app. */
export interface FeatureShaper {
  close(): Promise<void>;
}

/**
 * Makes a shaper, as in `(settings, name) => createShaper({ name, limit: 4, window: '1s' }, settings)`. It is called
 * twice: first by `forFeature`, with a memory store, to find mistakes early; then when the app is created.
 */
export type MakeShaper = (settings: FeatureShaperSettings, name: string) => FeatureShaper;

/**
 * What a limiter of a feature does if the store is slow or fails. Default: the module's settings, but with 1 as the
 * `localShare`.
 */
export interface FeatureStoreOptions
  extends Pick<KeyedLimiterOptions<Store>, 'onStoreError' | 'localShare' | 'storeTimeout'> {}

/** A limiter of a feature. Its name is the key under which it is declared. */
export interface FeatureLimiter extends RuleOptions, FeatureStoreOptions {}

/** Several limiters that decide together. Each has a name. The name of the group is only for `@InjectLimiter`. */
export interface FeatureLimiters extends FeatureStoreOptions {
  /** The rules by name, as for `createLimiters`. */
  readonly limits: Readonly<Record<string, RuleOptions>>;
}

/** The shapers and limiters of a feature, which use the store of the module. */
export interface SpillwayFeature {
  /** The shapers, by their names for `@InjectShaper`. */
  readonly shapers?: Readonly<Record<string, MakeShaper>> | undefined;
  /**
   * The limiters, by their names for `@InjectLimiter`. The name of a `FeatureLimiter` is also its name in the store.
   */
  readonly limiters?: Readonly<Record<string, FeatureLimiter | FeatureLimiters>> | undefined;
}

export const FEATURE_OPTIONS: NamesOf<SpillwayFeature> = { shapers: 1, limiters: 1 };

export const FEATURE_LIMITERS: NamesOf<FeatureLimiters> = {
  limits: 1,
  onStoreError: 1,
  localShare: 1,
  storeTimeout: 1,
};
