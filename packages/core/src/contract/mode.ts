/** The words for how far a limiter goes, and for what it does when its store cannot answer. */

/** `enforce`: refuse. `shadow`: only say what would be refused (dark launch). `off`: do not even ask (kill switch). */
export type Mode = 'enforce' | 'shadow' | 'off';

/** What a limiter does when the store cannot answer: let pass, refuse with 503, or count in this process. */
export type OnStoreError = 'allow' | 'deny' | 'local';
