import { build } from 'esbuild';

const PLATFORM = ['node:*', 'cloudflare:*'];

/** Bundles a file. Returns the text of the bundle, and all modules that it imports from the platform. */
export async function bundleForWorker(
  file: string,
): Promise<{ readonly text: string; readonly external: readonly string[] }> {
  const { outputFiles, metafile } = await build({
    entryPoints: [file],
    bundle: true,
    format: 'esm',
    target: 'es2022',
    conditions: ['@spillway/source', 'workerd', 'worker', 'browser'],
    external: PLATFORM, // left out of the bundle, and reported
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
