/** Bundles sources as a Worker's build does. */

import { build } from 'esbuild';

/** What the platform has in itself. */
const PLATFORM = ['node:*', 'cloudflare:*'];

/** The text of the bundle of a file, and every module it left out, which a Worker would have to have. */
export async function bundleForWorker(
  file: string,
): Promise<{ readonly text: string; readonly external: readonly string[] }> {
  const { outputFiles, metafile } = await build({
    entryPoints: [file],
    bundle: true,
    format: 'esm',
    target: 'es2022',
    conditions: ['@spillway/source', 'workerd', 'worker', 'browser'],
    external: PLATFORM, // kept, so that we see it
    loader: { '.lua': 'text' },
    metafile: true,
    write: false,
  });
  const imports = Object.values(metafile.inputs).flatMap((input) => input.imports);
  return {
    text: outputFiles[0]?.text ?? '',
    external: imports.filter((one) => one.external).map((one) => one.path),
  };
}
