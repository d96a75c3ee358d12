/** The modes of a limiter, and what it does when its store cannot answer. */

/** `enforce`: refuse. `shadow`: refuse nobody, but say what would be refused. `off`: do not run the limiter. */
export type Mode = (typeof MODES)[number];

export const MODES = ['enforce', 'shadow', 'off'] as const;

/**
 * What a limiter does when the store cannot answer: let the request pass, refuse it with 503, or count in this process.
 */
export type OnStoreError = (typeof ON_STORE_ERROR)[number];

export const ON_STORE_ERROR = ['allow', 'deny', 'local'] as const;
