/** What a feature declares: shapers and limiters by name. */

import type { KeyedLimiterOptions, RuleOptions, Store } from '@spillway/core';
import type { NamesOf } from '@spillway/core/adapter';

/** What a shaper of a feature has from the module: its store, what goes with that, and who is told. */
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

/** What is closed with the app: a `Shaper` of @spillway/outgoing. */
export interface FeatureShaper {
  close(): Promise<void>;
}

/**
 * Makes a shaper, as in `(settings, name) => createShaper({ name, limit: 4, window: '1s' }, settings)`. It is called
 * when the app is made; once before, when the feature is declared, with a store in memory, to find mistakes.
 */
export type MakeShaper = (settings: FeatureShaperSettings, name: string) => FeatureShaper;

/** What a limiter of a feature does without its store. Default: as the module, with a `localShare` of 1. */
export interface FeatureStoreOptions
  extends Pick<KeyedLimiterOptions<Store>, 'onStoreError' | 'localShare' | 'storeTimeout'> {}

/** A limiter of a feature; its name is that under which it is declared. */
export interface FeatureLimiter extends RuleOptions, FeatureStoreOptions {}

/** Several limiters that are asked together. They have names of their own; that of all is for `@InjectLimiter` only. */
export interface FeatureLimiters extends FeatureStoreOptions {
  /** The rules by their names, as `createLimiters` takes them. */
  readonly limits: Readonly<Record<string, RuleOptions>>;
}

/** The shapers and limiters of a feature, which use the store of the module. */
export interface SpillwayFeature {
  /** By the name for `@InjectShaper`. */
  readonly shapers?: Readonly<Record<string, MakeShaper>> | undefined;
  /** By the name for `@InjectLimiter`; of a single limiter it is the name in the store too. */
  readonly limiters?: Readonly<Record<string, FeatureLimiter | FeatureLimiters>> | undefined;
}

export const FEATURE_OPTIONS: NamesOf<SpillwayFeature> = { shapers: 1, limiters: 1 };

export const FEATURE_LIMITERS: NamesOf<FeatureLimiters> = {
  limits: 1,
  onStoreError: 1,
  localShare: 1,
  storeTimeout: 1,
};
