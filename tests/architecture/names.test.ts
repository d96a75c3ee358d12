/** Names that a search finds: no file or function shares its name with many others. */

import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { type Node, parseSync } from 'oxc-parser';
import { expect, it } from 'vitest';
import { ROOT } from '../readme/snippets.js';

const sources = readdirSync(join(ROOT, 'packages'))
  .filter((name) => name !== 'testkit')
  .flatMap((name) => sourcesIn(`packages/${name}/src`));

it('gives at most three files one name, entry points aside', () => {
  const many = sharedBy(
    4,
    sources.map((file) => ({ name: basename(file), file })),
  );
  expect(many).toEqual(['index.ts', 'testing.ts']);
});

it('defines a function of one name in at most six files, methods of interfaces aside', () => {
  const places = sources
    .filter((file) => /\/packages\/(core|outgoing|redis)\//.test(file))
    .flatMap((file) => functionsOf(file).map((name) => ({ name, file })));
  expect(sharedBy(7, places)).toEqual([]);
});

/** The names that stand in at least `least` files. */
function sharedBy(
  least: number,
  places: readonly { readonly name: string; readonly file: string }[],
): string[] {
  const files = new Map<string, Set<string>>();
  for (const { name, file } of places) {
    files.set(name, (files.get(name) ?? new Set()).add(file));
  }
  return [...files].flatMap(([name, { size }]) => (size >= least ? [name] : [])).sort();
}

function sourcesIn(folder: string): string[] {
  const entries = readdirSync(join(ROOT, folder), { withFileTypes: true, recursive: true });
  return entries
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => join(entry.parentPath, entry.name));
}

/** The functions of a file, and the methods of its classes, unless an interface or a base class declares them. */
function functionsOf(file: string): string[] {
  const names: string[] = [];
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    const one = node as Node;
    if (one.type === 'ClassDeclaration' && one.implements && one.implements.length > 0) return;
    if (one.type === 'FunctionDeclaration' && one.id) names.push(one.id.name);
    if (
      one.type === 'MethodDefinition' &&
      one.kind === 'method' &&
      !one.override &&
      'name' in one.key
    ) {
      names.push(String(one.key.name));
    }
    for (const value of Object.values(node)) visit(value);
  };
  visit(parseSync(file, readFileSync(file, 'utf8')).program);
  return names;
}
