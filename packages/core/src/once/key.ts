/** An idempotency key out of the field that a client sent. */

/** The structured-field string of RFC 9651: printable ASCII in quotes; `"` and `\` are escaped. */
const QUOTED = /^"((?:[ !#-[\]-~]|\\["\\])*)"$/;

/** What nearly all clients send: the same without quotes, spaces, and what separates list members and parameters. */
const BARE = /^[!#-+\--:<-[\]-~]+$/;

const LONGEST = 255;

/**
 * The key in the value of an `Idempotency-Key` field (draft-ietf-httpapi-idempotency-key-header-07), quoted or bare:
 * 1 to 255 characters. Undefined for anything else, so also for two fields, parameters and what is not ASCII.
 */
export function keyIn(value: string): string | undefined {
  const text = value.trim();
  if (text.length > 2 * LONGEST + 2) return undefined;
  const quoted = QUOTED.exec(text)?.[1]?.replace(/\\(.)/g, '$1');
  const key = quoted ?? (BARE.test(text) ? text : '');
  return key.length >= 1 && key.length <= LONGEST ? key : undefined;
}
