/** The command line is wrong. */

export class UsageError extends Error {}
