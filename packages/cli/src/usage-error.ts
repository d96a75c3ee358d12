/** The error for a wrong command line. */

export class UsageError extends Error {}
