/** Packs packages of a workspace. */

import { execute } from './execute.js';

/**
 * Packs these packages of the workspace in `root` into a folder. Returns the paths of the tarballs by the names of the
 * packages. Calls pnpm once for all packages, because starting pnpm takes longer than packing one.
 */
export async function packAll(
  names: readonly string[],
  folder: string,
  root: string,
): Promise<Readonly<Record<string, string>>> {
  const filters = names.flatMap((name) => ['--filter', name]);
  const args = [...filters, 'pack', '--json', '--pack-destination', folder];
  const printed: unknown = JSON.parse(await execute('pnpm', args, root));
  const packed = [printed].flat() as { name: string; filename: string }[];
  return Object.fromEntries(packed.map(({ name, filename }) => [name, filename]));
}
