/** What is in the bundles of programs. */

import { build } from 'esbuild';

/** The modules of which a program's bundle contains any code, after the bundler has removed what is unused. */
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
