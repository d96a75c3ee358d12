/** The checks of this folder find what they are for, on trees made up for it. */

import { describe, expect, it } from 'vitest';
import { messageOf, offences } from './check-walls.js';
import { circles } from './circles.js';
import { exportsOf } from './doors.js';
import { readSource } from './reader.js';
import { treeOf } from './tree.js';
import { unusedExports } from './unused.js';
import type { Package } from './walls.js';

/** A house with a cellar, a kitchen beside a pantry, an attic and a door. */
const HOUSE: Readonly<Record<string, Package>> = {
  house: {
    uses: ['@spillway/garden'],
    outside: ['node:fs'],
    rooms: {
      cellar: { floor: 0 },
      kitchen: { floor: 1, beside: ['pantry'], outside: ['cooks'] },
      pantry: { floor: 1, values: ['Jar'] },
      attic: { floor: 2, only: ['cellar'] },
      'index.ts': { floor: 9 },
    },
  },
  shed: { uses: [] },
};

/** What the checker says about one import. */
function said(file: string, statement: string): string[] {
  return offences(treeOf({ [file]: statement }), HOUSE).map(messageOf);
}

describe('the walls', () => {
  const inside = (path: string): string => `packages/house/src/${path}`;

  it.each([
    ['to a lower floor', 'kitchen/a.ts', `import { b } from '../cellar/b.js';`],
    ['within a room', 'kitchen/a.ts', `import { b } from './deep/b.js';`],
    ['to a room that the table names beside it', 'kitchen/a.ts', `import '../pantry/b.js';`],
    ['from a door', 'index.ts', `export * from './attic/b.js';`],
    ['of a package that the table names', 'cellar/a.ts', `import { b } from '@spillway/garden';`],
    ['from outside, which the package may', 'cellar/a.ts', `import { b } from 'node:fs';`],
    ['from outside, which the room may', 'kitchen/a.ts', `import { b } from 'cooks';`],
    ['of types, where values are few', 'pantry/a.ts', `import type { B } from '@spillway/garden';`],
    ['of the values that may be', 'pantry/a.ts', `import { type B, Jar } from '@spillway/garden';`],
  ])('allow an import %s', (_, path, statement) => {
    expect(said(inside(path), statement)).toEqual([]);
  });

  it.each([
    ['kitchen/a.ts', '../attic/b.js', 'kitchen (floor 1) is not above attic (floor 2)'],
    ['pantry/a.ts', '../kitchen/b.js', 'pantry (floor 1) is not above kitchen (floor 1)'],
    ['attic/a.ts', '../kitchen/b.js', 'attic uses nothing but cellar'],
    ['attic/a.ts', '../index.js', 'attic uses nothing but cellar'],
    ['kitchen/a.ts', '../index.js', 'kitchen (floor 1) is not above index.ts (floor 9)'],
    ['kitchen/a.ts', '../hall/b.js', 'the room hall is not in the table'],
    ['hall/a.ts', '../cellar/b.js', 'the room hall is not in the table'],
    ['new.ts', './cellar/b.js', 'the room new.ts is not in the table'],
    ['cellar/a.ts', '../../../shed/src/b.js', 'other packages are imported by their names'],
    ['cellar/a.ts', '../../test/b.js', 'other packages are imported by their names'],
    ['cellar/a.ts', '@spillway/shed', 'house uses nothing of ours but @spillway/garden'],
    ['cellar/a.ts', '@spillway/garden/src/b.js', 'house uses nothing of ours but @spillway/garden'],
    ['cellar/a.ts', 'cooks', 'cellar imports node:fs from outside'],
    ['kitchen/a.ts', 'node:fs', 'kitchen imports cooks from outside'],
    ['pantry/a.ts', '@spillway/garden', 'pantry takes only types and Jar from our other packages'],
  ])('name %s, its import of %s and the wall', (path, from, wall) => {
    const message = `${inside(path)} imports '${from}': ${wall}`;
    expect(said(inside(path), `import { b } from '${from}';`)).toEqual([message]);
  });

  it.each([
    `import type { b } from '../attic/b.js';`,
    `import {\n  type a,\n  b, // with a remark\n} from '../attic/b.js';`,
    `import * as b from '../attic/b.js';`,
    `import b from '../attic/b.js';`,
    `import '../attic/b.js';`,
    `export { b } from '../attic/b.js';`,
    `export type * from '../attic/b.js';`,
    `const b = await import('../attic/b.js');`,
    `let b: import('../attic/b.js').B;`,
  ])('see an import however it is written: %s', (statement) => {
    expect(said(inside('kitchen/a.ts'), statement)).toHaveLength(1);
  });

  it('do not read comments', () => {
    const text = `/**\n * import { b } from '../attic/b.js';\n */\n// import('../attic/b.js')`;
    expect(said(inside('kitchen/a.ts'), text)).toEqual([]);
  });

  it('ask for an entry for a new package', () => {
    const found = said('packages/stable/src/a.ts', `import { b } from 'node:fs';`);
    expect(found).toEqual([
      `packages/stable/src/a.ts imports 'node:fs': the package stable is not in the table`,
    ]);
  });
});

it('a circle is named with its files in order, types or not', () => {
  const tree = treeOf({
    'packages/house/src/a.ts': `import { c } from './in/b.js';`,
    'packages/house/src/in/b.ts': `import type { C } from './c.js';`,
    'packages/house/src/in/c.ts': `export * from './b.js';\nimport { d } from './d.js';`,
    'packages/house/src/in/d.ts': `import { nothing } from 'node:fs';`,
  });
  expect(circles(tree)).toEqual([
    'packages/house/src/in/b.ts -> packages/house/src/in/c.ts -> packages/house/src/in/b.ts',
  ]);
});

describe('an export is unused', () => {
  const index = 'packages/house/src/index.ts';
  const unusedIn = (a: string, b: string): string[] =>
    unusedExports(treeOf({ [index]: a, 'packages/house/src/b.ts': b }), new Set([index])).map(
      (found) => found.replace('packages/house/src/', ''),
    );

  it('if no other file imports it, though its own file uses it', () => {
    const b = 'export const used = 1;\nexport type Dead = number;\nconst own: Dead = used;';
    expect(unusedIn(`import { used as one } from './b.js';`, b)).toEqual(['b.ts: Dead']);
    expect(unusedIn('', b)).toEqual(['b.ts: used', 'b.ts: Dead']);
  });

  it('but not if it is a door that exports it, by name or with all others', () => {
    const b = 'export class B {}\nconst a = 1;\nexport { a as c };';
    expect(unusedIn(`export { B } from './b.js';`, b)).toEqual(['b.ts: c']);
    expect(unusedIn(`export * from './b.js';\nexport const door = 1;`, b)).toEqual([]);
  });
});

describe('the reader', () => {
  it('tells types from values', () => {
    const text = `
export { type A, b as B } from './b.js';
export type { C } from './c.js';
export * from './d.js';
export * as e from './e.js';
export async function f() {}
export abstract class G {}
export const enumerable = 1;
export interface H {}`;
    const types = ['type A', 'type C', 'type H'];
    expect(exportsOf(treeOf({ 'a.ts': text }), 'a.ts')).toEqual([
      'everything of ./d.js',
      ...['B', 'G', 'e', 'enumerable', 'f'],
      ...types,
    ]);
  });

  it.each(['export default 1;', 'export const { a } = b;', 'import a = require("b");'])(
    'does not pass over what it cannot read: %s',
    (statement) => {
      expect(() => readSource(`const a = 1;\n${statement}`, 'a.ts')).toThrow(
        `a.ts:2: the reader does not understand: ${statement}`,
      );
    },
  );
});
