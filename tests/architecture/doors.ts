/** The entry points ("doors") of the packages: the files that users import by name. */

import { readFileSync } from 'node:fs';
import { join, posix, relative } from 'node:path';
import { parseSync } from 'oxc-parser';
import { publicFolders, ROOT, readManifest } from '../packaging/packages.js';

export interface Door {
  /** What users write: `@spillway/core/store`. */
  readonly name: string;
  /** Its source: `packages/core/src/store.ts`. */
  readonly file: string;
}

/** The entry points of every public package, as its package.json lists them. */
export function doors(): Door[] {
  return publicFolders().flatMap((dir) => {
    const { name, exports } = readManifest(dir);
    return Object.entries(exports).flatMap(([door, target]) => {
      if (typeof target === 'string') return [];
      const source = (target as { readonly '@spillway/source': string })['@spillway/source'];
      return [{ name: posix.join(name, door), file: posix.join(relative(ROOT, dir), source) }];
    });
  });
}

/** The sorted exports of an entry point, one name per line. For an `export *`, the entry point that it comes from. */
export function exportsOf({ file }: Door): string[] {
  const { module, errors } = parseSync(file, readFileSync(join(ROOT, file), 'utf8'));
  if (errors.length > 0) throw new Error(`${file}: ${errors[0]?.message}`);
  const entries = module.staticExports.flatMap((statement) => statement.entries);
  const names = entries.map(({ exportName: { kind, name }, moduleRequest, isType }) => {
    if (kind === 'None') return `everything of ${moduleRequest?.value}`;
    return `${isType ? 'type ' : ''}${name ?? 'default'}`;
  });
  // Everything, values, types.
  const order = ['everything ', '', 'type '];
  return order.flatMap((kind) => names.filter((name) => kindOf(name) === kind).sort());
}

function kindOf(name: string): string {
  return /^(everything|type) /.exec(name)?.[0] ?? '';
}
