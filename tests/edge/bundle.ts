/** Bundles sources as a Worker's build does. */

import { join } from 'node:path';
import { build } from 'esbuild';

/** The text of the bundle, and every module it left out, which a Worker would have to have. */
export async function bundleForWorker(
  entry: string,
): Promise<{ readonly text: string; readonly external: readonly string[] }> {
  const { outputFiles, metafile } = await build({
    entryPoints: [join(import.meta.dirname, entry)],
    bundle: true,
    format: 'esm',
    target: 'es2022',
    conditions: ['@spillway/source', 'workerd', 'worker', 'browser'],
    external: ['node:*'], // kept, so that we see it
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

/** The modules of which a program has any code after the bundler has left out what it does not use. */
export async function modulesOf(source: string): Promise<string[]> {
  const { metafile } = await build({
    stdin: { contents: source, resolveDir: import.meta.dirname },
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'es2022',
    conditions: ['@spillway/source'],
    metafile: true,
    write: false,
  });
  return Object.values(metafile.outputs).flatMap(({ inputs }) =>
    Object.keys(inputs).filter((module) => (inputs[module]?.bytesInOutput ?? 0) > 0),
  );
}
