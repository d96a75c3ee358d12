/** A header field of a response. */

/** A response field: its name and its value. */
export type Field = readonly [name: string, value: string];
