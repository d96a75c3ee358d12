/** Every script is Lua 5.1, and uses only names that it defines or that Redis defines. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { productionScript, testScript } from '../src/codec/script.js';
import { unknownGlobals } from './lua.js';

const SRC = join(import.meta.dirname, '..', 'src');
const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.lua'))
  .map((name) => ({ name, text: readFileSync(join(SRC, name), 'utf8') }));
/** The parts of the store's script use each other's names; every other file is a script by itself. */
const isPart = (text: string): boolean => productionScript().text.includes(text);

describe('the Lua of', () => {
  it('every algorithm is in the script', () => {
    const parts = files.filter(({ name }) => name.startsWith('algorithms'));
    expect(parts.length).toBeGreaterThanOrEqual(4);
    expect(parts.filter(({ text }) => !isPart(text))).toEqual([]);
  });

  it.each(files)('$name is Lua 5.1', ({ text }) => {
    expect(() => unknownGlobals(text)).not.toThrow();
  });

  it.each([
    { name: 'the script for production', text: productionScript().text },
    { name: 'the script for tests', text: testScript().text },
    ...files.filter(({ text }) => !isPart(text)),
  ])('$name uses no global that Redis does not have', ({ text }) => {
    expect(unknownGlobals(text)).toEqual([]);
  });
});

describe('the check itself', () => {
  const whole = productionScript().text;

  it.each([
    { what: 'an end that is missing', text: whole.replace(/\n {2}end\n/, '\n') },
    { what: 'an end too many', text: `${whole}\nend` },
    { what: 'an operator of Lua 5.3', text: 'return 7 // 2' },
    { what: 'a goto of Lua 5.2', text: 'goto done' },
  ])('names the line of $what', ({ text }) => {
    expect(text).not.toBe(whole);
    expect(() => unknownGlobals(text)).toThrow(/^\[\d+:\d+\] /);
  });

  it('names a global that is read, one that is set, and none that is local or of Redis', () => {
    const text = 'local a = ARGV[1]\nb = a\nreturn redis.call(a, c, tostring(a))';
    expect(unknownGlobals(text)).toEqual(['b', 'c']);
    expect(unknownGlobals(whole.replace('local CORRUPT', 'local CORUPT'))).toEqual(['CORRUPT']);
  });
});
