import { defineConfig } from 'tsdown';

export default defineConfig({
  entry: ['src/main.ts'],
  format: ['esm'],
  fixedExtension: false,
  platform: 'node',
  target: 'node20',
  sourcemap: true,
  outputOptions: { sourcemapExcludeSources: true }, // they are in the package
});
