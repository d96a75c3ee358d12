/** The name of a count as one text, for stores that keep counts by names. */

/**
 * The version of the stored format: of these names and of all that stores keep under them (docs/stored-format.md). With
 * another one all counts begin anew.
 */
const FORMAT = '1';

/** Longer texts, in UTF-16 units, are hashed. */
const LONGEST = 256;

/** Text that needs no escaping: none of our marks, no control characters, no surrogate that stands alone, not empty. */
const PLAIN = /^[^{}%#\p{Cc}\p{Surrogate}]+$/u;
const SPECIAL = /[{}%]|^#|\p{Cc}|\p{Surrogate}/gu;

/** Options of {@link encodeName}. */
export interface EncodeNameOptions {
  /**
   * Makes a short text out of a long one, such as its SHA-256 in hexadecimal digits. It is given limiters and keys of
   * more than 256 UTF-16 units, escaped already, and the id of each claim. Without it they stand in the name as they
   * are.
   */
  readonly hash?: ((text: string) => string) | undefined;
  /**
   * Makes the text that stands for every key and id, for keys that nobody may read in the store. It begins with `#` and
   * has no braces.
   */
  readonly hide?: ((key: string) => string) | undefined;
}

/**
 * The name of the count of a limiter, a key and a code (see `countOf`): `1{key}limiter}code`. The 1 is the version of
 * the stored format. No two counts have the same name. A key that is hashed or hidden begins with `#`; no other does.
 * Of a code with a `:`, as steps with a claim have it, the text behind is hidden or hashed like a key, and `#` stands
 * in place of the `:`. Names have no control characters and are valid Unicode, so that any database can store them. A
 * database must compare them exactly: `Ada` and `ada` differ.
 *
 * @example
 * ```ts run
 * import { encodeName } from '@spillway/core/store';
 *
 * encodeName('api', 'ada', 'b1'); // '1{ada}api}b1'
 * encodeName('api', '{ada}', 'b1'); // '1{%007bada%007d}api}b1'
 * ```
 */
export function encodeName(
  limiter: string,
  key: string,
  code: string,
  { hash, hide }: EncodeNameOptions = {},
): string {
  const shown = hide ? hide(key) : encodeText(key, hash);
  return `${FORMAT}{${shown}}${encodeText(limiter, hash)}}${encodeCode(code, hash, hide)}`;
}

/** Behind a `:` stands a text that a client may have chosen. It is always hashed, where there is a hash. */
function encodeCode(
  code: string,
  hash: EncodeNameOptions['hash'],
  hide: EncodeNameOptions['hide'],
): string {
  const at = code.indexOf(':');
  if (at < 0 || !(hash || hide)) return code;
  const text = code.slice(at + 1);
  return code.slice(0, at) + (hide ? hide(text) : `#${hash?.(text)}`);
}

/** Different texts give different results. The result has no braces and no control characters, and is never empty. */
export function encodeText(text: string, hash?: EncodeNameOptions['hash']): string {
  // After a '%' comes '-' here, or the four hex digits of a unit below, and nothing else.
  if (text === '') return '%-';
  const escaped = PLAIN.test(text) ? text : text.replace(SPECIAL, escapeUnit);
  return text.length > LONGEST && hash ? `#${hash(escaped)}` : escaped;
}

function escapeUnit(unit: string): string {
  return `%${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
