/** The words for how far a limiter goes, and for what it does when its store cannot answer. */

/** `enforce`: refuse. `shadow`: only say what would be refused (dark launch). `off`: do not even ask (kill switch). */
export type Mode = (typeof MODES)[number];

export const MODES = ['enforce', 'shadow', 'off'] as const;

/** What a limiter does when the store cannot answer: let pass, refuse with 503, or count in this process. */
export type OnStoreError = (typeof ON_STORE_ERROR)[number];

export const ON_STORE_ERROR = ['allow', 'deny', 'local'] as const;
