/**
 * The version of the stored format, which covers these names and everything stored under them (docs/stored-format.md).
 * A new version makes all counts start over.
 *
 * During a deploy, two releases can share one Redis. If their versions differ, neither sees the other's counts, so no
 * release needs to read two formats.
 */
const FORMAT = '1';

const LONGEST = 256;

const PLAIN = /^[^{}%#\p{Cc}\p{Surrogate}]+$/u;
const SPECIAL = /[{}%]|^#|\p{Cc}|\p{Surrogate}/gu;

/** Options of {@link encodeName}. */
export interface EncodeNameOptions {
  /**
   * Shortens a string, for example to its SHA-256 in hexadecimal. It is applied to every id of a claim or value, and to
   * limiter names and keys longer than 256 UTF-16 units, which are escaped first. With `hide`, it is applied to limiter
   * names only. Without either function, names contain these texts in full.
   */
  readonly hash?: ((text: string) => string) | undefined;
  /**
   * Returns the replacement of a key, or of the id of a claim or value, if these must not be readable in the store. The
   * result must begin with `#` and contain no braces.
   */
  readonly hide?: ((key: string) => string) | undefined;
}

/**
 * The name of the count of a limiter, a key and a code (see `countOf`): `1{key}limiter}code`, where 1 is the version of
 * the stored format.
 *
 * - Different counts have different names.
 * - Hashed and hidden keys begin with `#`; other keys don't.
 * - The code of a claim or value ends with `:` and its id. With `hash` or `hide`, it ends with `#` and the hashed or
 *   hidden id instead.
 * - Names are valid Unicode without control characters, so any database can store them. The database must compare them
 *   exactly: `Ada` and `ada` differ.
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

/** Encodes a code for a name. Hides or hashes the text after a `:`, because clients may have chosen it. */
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

/** Different texts have different results, which are never empty and have no braces or control characters. */
export function encodeText(text: string, hash?: EncodeNameOptions['hash']): string {
  // This is unambiguous, because elsewhere four hex digits follow each '%'.
  if (text === '') return '%-';
  const escaped = PLAIN.test(text) ? text : text.replace(SPECIAL, escapeUnit);
  return text.length > LONGEST && hash ? `#${hash(escaped)}` : escaped;
}

function escapeUnit(unit: string): string {
  return `%${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
