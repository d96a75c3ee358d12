/** A header field of a response. */

/** Name and value. */
export type Field = readonly [name: string, value: string];
