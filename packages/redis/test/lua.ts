/** Parses Lua as Redis does: version 5.1, with no globals except those that Redis gives to a script. */

import { type Chunk, type Identifier, parse } from 'luaparse';

/** Redis's own globals, and those of Lua that a script may use in Redis. */
const GLOBALS: ReadonlySet<string> = new Set([
  ...['redis', 'KEYS', 'ARGV', 'cjson', 'cmsgpack', 'struct', 'bit'],
  ...['math', 'string', 'table', 'assert', 'error', 'pcall', 'xpcall', 'select', 'unpack'],
  ...['ipairs', 'next', 'pairs', 'rawequal', 'rawget', 'rawset', 'tonumber', 'tostring', 'type'],
  ...['getmetatable', 'setmetatable'],
]);

/**
 * The globals that a text reads or sets and that Redis does not have: Redis stops a script that touches one.
 *
 * @throws SyntaxError with line and column, if the text is not Lua 5.1
 */
export function unknownGlobals(lua: string): string[] {
  const chunk = parse(lua, { luaVersion: '5.1', scope: true });
  const { globals } = chunk as Chunk & { readonly globals: readonly Identifier[] };
  return globals.map(({ name }) => name).filter((name) => !GLOBALS.has(name));
}
