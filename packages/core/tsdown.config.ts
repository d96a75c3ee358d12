import { defineConfig } from 'tsdown';

export default defineConfig({
  entry: ['index', 'store', 'adapter', 'node', 'fetch', 'control', 'algorithms', 'testing'].map(
    (door) => `src/${door}.ts`,
  ),
  format: ['esm', 'cjs'],
  dts: true,
  fixedExtension: false,
  platform: 'neutral',
  target: 'es2022',
  sourcemap: true,
  outputOptions: { sourcemapExcludeSources: true }, // they are in the package
});
