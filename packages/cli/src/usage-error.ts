/** A command that cannot be meant as it is written. */

export class UsageError extends Error {}
