import { readFile } from 'node:fs/promises';
import { defineConfig } from 'vitest/config';

/** The Lua sources are imported as text, as the build does. */
const luaAsText = {
  name: 'lua-as-text',
  async load(id: string): Promise<string | undefined> {
    if (!id.endsWith('.lua')) return undefined;
    return `export default ${JSON.stringify(await readFile(id, 'utf8'))};`;
  },
};

export default defineConfig({
  plugins: [luaAsText],
  // Tests run the sources, not the build; tests/packaging and tests/fleet are what uses dist.
  ssr: { resolve: { conditions: ['@spillway/source'] } },
  test: {
    include: ['packages/*/test/**/*.test.ts', 'tests/**/*.test.ts'],
    globalSetup: ['tools/redis-global-setup.ts'],
    reporters: ['default', './tools/plain-count-reporter.ts'],
    testTimeout: 60_000,
    hookTimeout: 30_000,
  },
});
