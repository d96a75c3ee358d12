/** The sources follow the table of modules (docs/how-it-works.md), and each rule finds its violations. */

import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { ROOT } from '../packaging/packages.js';
import { offences } from './rules.js';
import { type Package, WALLS } from './walls.js';

it('imports keep to the table of rooms, and make no circle of files', async () => {
  expect(await offences(ROOT, WALLS)).toEqual([]);
  const stricter = await offences(ROOT, { ...WALLS, koa: { uses: ['@spillway/core'] } });
  expect(stricter).toContain(
    'koa uses other packages by the doors in the table: packages/koa/src/middleware.ts -> packages/core/src/adapter.ts',
  );
});

it('the page that explains the rooms has a line for each, with its floor', () => {
  const page = readFileSync(join(ROOT, 'docs', 'how-it-works.md'), 'utf8');
  const rooms = Object.entries(WALLS['core']?.rooms ?? {});
  const inTable = rooms.filter(([room]) => !room.endsWith('.ts'));
  const explained = [...page.matchAll(/^\| (\d) \| (.*) \|$/gm)].flatMap(([, floor, line = '']) =>
    inTable.flatMap(([room]) => (line.includes(`\`${room}\``) ? [`${room}: ${floor}`] : [])),
  );
  expect(explained.sort()).toEqual(inTable.map(([room, { floor }]) => `${room}: ${floor}`).sort());
});

/** A made-up package, `house`, with its modules, and the packages beside it. */
const HOUSE: Readonly<Record<string, Package>> = {
  house: {
    uses: ['@spillway/garden'],
    outside: ['node:fs'],
    rooms: {
      cellar: { floor: 0 },
      kitchen: { floor: 1, beside: ['pantry'], outside: ['cooks'] },
      pantry: { floor: 1, values: ['pantry/jar.ts'] },
      attic: { floor: 2, only: ['cellar'] },
      'index.ts': { floor: 9 },
    },
  },
  garden: { uses: [] },
  shed: { uses: [] },
};

const OTHERS = {
  'packages/garden/package.json': manifest('@spillway/garden'),
  'packages/garden/src/index.ts': 'export class Flower {}\nexport const b = 1;',
  'packages/garden/src/other.ts': 'export const b = 1;',
  'packages/shed/package.json': manifest('@spillway/shed'),
  'packages/shed/src/index.ts': 'export const b = 1;',
  'packages/house/package.json': manifest('@spillway/house'),
  'node_modules/cooks/index.js': 'module.exports = {};',
  ...Object.fromEntries(
    ['attic', 'cellar', 'hall', 'kitchen', 'pantry'].map((room) => [
      `packages/house/src/${room}/b.ts`,
      'export const b = 1;\nexport interface B {}',
    ]),
  ),
};

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true });
});

/** The violations in that package with one more file; `beside` has more files, of any package. */
async function said(
  file: string,
  text: string,
  beside: Readonly<Record<string, string>> = {},
): Promise<string[]> {
  const root = mkdtempSync(join(tmpdir(), 'spillway-house-'));
  folders.push(root);
  const path = `packages/house/src/${file}`;
  for (const [name, content] of Object.entries({ ...OTHERS, [path]: text, ...beside })) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), content);
  }
  mkdirSync(join(root, 'node_modules/@spillway'));
  for (const name of ['garden', 'shed']) {
    symlinkSync(join(root, 'packages', name), join(root, 'node_modules/@spillway', name));
  }
  return (await offences(root, HOUSE)).map((line) => line.replaceAll('packages/house/src/', ''));
}

function manifest(name: string): string {
  return JSON.stringify({ name, exports: { '.': { '@spillway/source': './src/index.ts' } } });
}

it.each([
  ['to a lower floor', 'kitchen/a.ts', `import { b } from '../cellar/b.js';`],
  ['within a room', 'kitchen/a.ts', `import { b } from './b.js';`],
  ['to a room beside it', 'kitchen/a.ts', `import { b } from '../pantry/b.js';`],
  ['from a door', 'index.ts', `export * from './attic/b.js';`],
  ['of a package that the table names', 'cellar/a.ts', `import { b } from '@spillway/garden';`],
  ['from outside, which the package may', 'cellar/a.ts', `import { readFileSync } from 'node:fs';`],
  ['from outside, which the room may', 'kitchen/a.ts', `import cook from 'cooks';`],
  ['of types', 'pantry/a.ts', `import type { Flower } from '@spillway/garden';`],
  [
    'of values, in the file that may',
    'pantry/jar.ts',
    `import { Flower } from '@spillway/garden';`,
  ],
  ['in a comment', 'kitchen/a.ts', `/**\n * import { b } from '../attic/b.js';\n */`],
])('the rules allow an import %s', async (_, file, text) => {
  expect(await said(file, `${text}\nexport const a = 1;`)).toEqual([]);
});

const NOT_BELOW = 'house/kitchen imports from the rooms below';
const NO_LINE = 'a room of house without a line in the table';
const DOORS = 'house uses other packages by the doors in the table';
const OUTSIDE = 'house imports from outside what the table says';

it.each([
  ['kitchen/a.ts', '../attic/b.js', [`${NOT_BELOW}: kitchen/a.ts -> attic/b.ts`]],
  [
    'pantry/a.ts',
    '../kitchen/b.js',
    ['house/pantry imports from the rooms below: pantry/a.ts -> kitchen/b.ts'],
  ],
  [
    'attic/a.ts',
    '../kitchen/b.js',
    ['house/attic imports from the rooms below: attic/a.ts -> kitchen/b.ts'],
  ],
  ['kitchen/a.ts', '../hall/b.js', [`${NOT_BELOW}: kitchen/a.ts -> hall/b.ts`]],
  ['hall/a.ts', '../cellar/b.js', [`${NO_LINE}: hall/a.ts -> cellar/b.ts`]],
  ['new.ts', './cellar/b.js', [`${NO_LINE}: new.ts -> cellar/b.ts`]],
  [
    'cellar/a.ts',
    '../../../shed/src/index.js',
    [
      'house imports other packages by their names: cellar/a.ts -> packages/shed/src/index.ts',
      `${DOORS}: cellar/a.ts -> packages/shed/src/index.ts`,
    ],
  ],
  [
    'cellar/a.ts',
    '../../../garden/src/index.js',
    ['house imports other packages by their names: cellar/a.ts -> packages/garden/src/index.ts'],
  ],
  ['cellar/a.ts', '@spillway/shed', [`${DOORS}: cellar/a.ts -> packages/shed/src/index.ts`]],
  [
    'cellar/a.ts',
    '@spillway/garden/src/other.js',
    [
      `${OUTSIDE}: cellar/a.ts -> @spillway/garden/src/other.js`,
      'not found: cellar/a.ts -> @spillway/garden/src/other.js',
    ],
  ],
  [
    'cellar/a.ts',
    './gone.js',
    [`${OUTSIDE}: cellar/a.ts -> ./gone.js`, 'not found: cellar/a.ts -> ./gone.js'],
  ],
  ['cellar/a.ts', 'cooks', [`${OUTSIDE}: cellar/a.ts -> node_modules/cooks/index.js`]],
  [
    'kitchen/a.ts',
    'node:fs',
    ['house/kitchen imports from outside what the table says: kitchen/a.ts -> fs'],
  ],
  [
    'pantry/a.ts',
    '@spillway/garden',
    [
      'house/pantry takes only types from other packages: pantry/a.ts -> packages/garden/src/index.ts',
    ],
  ],
])('the rules find in %s the import of %s', async (file, from, found) => {
  expect(await said(file, `import { b } from '${from}';\nexport const a = b;`)).toEqual(found);
});

it('the rules find an import however it is written', async () => {
  const statements = [
    `import type { B } from '../attic/b.js';`,
    `import {\n  type B,\n  b, // with a remark\n} from '../attic/b.js';`,
    `import * as b from '../attic/b.js';`,
    `import '../attic/b.js';`,
    `export { b } from '../attic/b.js';`,
    `export type * from '../attic/b.js';`,
    `const b = await import('../attic/b.js');`,
    `let b: import('../attic/b.js').B;`,
  ];
  for (const statement of statements) {
    const found = await said('kitchen/a.ts', statement);
    expect(found, statement).toEqual([`${NOT_BELOW}: kitchen/a.ts -> attic/b.ts`]);
  }
});

it('the rules ask for a line for a new package', async () => {
  const found = await said('../../stable/src/a.ts', `import { readFileSync } from 'node:fs';`);
  expect(found).toEqual(['a package without a line in the table: packages/stable/src/a.ts -> fs']);
});

it('the rules find a circle, of types too, with its files in order', async () => {
  const found = await said('kitchen/a.ts', `import { b } from './b.js';\nexport interface A {}`, {
    'packages/house/src/kitchen/b.ts': `export { c as b } from './c.js';`,
    'packages/house/src/kitchen/c.ts': `import type { A } from './a.js';\nexport const c: A = {};`,
  });
  expect(found).toEqual(['a circle: kitchen/a.ts -> kitchen/b.ts -> kitchen/c.ts -> kitchen/a.ts']);
});
