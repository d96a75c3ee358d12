/** Reads a list of Structured Fields (RFC 9651): the part of it that rate limit fields use. */

/** A String or a Token with its parameters, as they are written. */
interface Item {
  readonly name: string;
  readonly parameters: ReadonlyMap<string | undefined, string | undefined>;
}

// Each is matched where the last one ended, and no text can match in two ways: the time is linear in the length.
const STRING = '"(?:[\\x20\\x21\\x23-\\x5b\\x5d-\\x7e]|\\\\["\\\\])*"';
const TOKEN = "[A-Za-z*][\\w!#$%&'*+.^`|~:/-]*";
const BARE = `-?\\d{1,15}(?:\\.\\d{1,3})?|${STRING}|${TOKEN}|:[A-Za-z0-9+/=]*:|\\?[01]`;
const NAME = new RegExp(`${STRING}|${TOKEN}`, 'y');
const PARAMETER = new RegExp(`; *([a-z*][a-z0-9_.*-]*)(?:=(${BARE}))?`, 'y');
const COMMA = /[ \t]*,[ \t]*/y;

/** The items of a list; undefined if anything in it is wrong: then all of it is to be ignored. */
export function parseList(field: string): readonly Item[] | undefined {
  const items: Item[] = [];
  let at = 0;
  const next = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    const match = pattern.exec(field);
    if (match) at = pattern.lastIndex;
    return match;
  };
  do {
    const name = next(NAME);
    if (!name) return undefined;
    const parameters = new Map<string | undefined, string | undefined>();
    for (let match = next(PARAMETER); match; match = next(PARAMETER)) {
      parameters.set(match[1], match[2]);
    }
    items.push({ name: name[0], parameters });
  } while (next(COMMA));
  return at === field.length ? items : undefined;
}
