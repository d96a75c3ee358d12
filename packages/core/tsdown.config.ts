import { defineConfig } from 'tsdown';

export default defineConfig({
  entry: ['src/index.ts', 'src/testing.ts', 'src/node.ts', 'src/fetch.ts', 'src/control.ts'],
  format: ['esm', 'cjs'],
  dts: true,
  fixedExtension: false,
  platform: 'neutral',
  target: 'es2022',
  sourcemap: true,
});
