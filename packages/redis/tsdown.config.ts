import { readFile } from 'node:fs/promises';
import { defineConfig } from 'tsdown';

/** Lua as text, without the lines that only comment: a bundle has no use for them, and neither has a server. */
const luaAsText = {
  name: 'lua-as-text',
  async load(id: string) {
    if (!id.endsWith('.lua')) return undefined;
    const text = (await readFile(id, 'utf8')).replace(/^\s*--.*\n/gm, '');
    return { code: `export default ${JSON.stringify(text)};`, moduleType: 'js' as const };
  },
};

export default defineConfig({
  entry: ['src/index.ts', 'src/testing.ts'],
  format: ['esm', 'cjs'],
  dts: true,
  fixedExtension: false,
  platform: 'neutral',
  target: 'es2022',
  sourcemap: true,
  outputOptions: { sourcemapExcludeSources: true }, // they are in the package
  plugins: [luaAsText],
});
