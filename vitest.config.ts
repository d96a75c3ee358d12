import { readFile } from 'node:fs/promises';
import { defineConfig } from 'vitest/config';
import { TIERS } from './tests/tiers.js';

/** Imports the Lua sources as text, as the build does. */
const luaAsText = {
  name: 'lua-as-text',
  async load(id: string): Promise<string | undefined> {
    if (!id.endsWith('.lua')) return undefined;
    return `export default ${JSON.stringify(await readFile(id, 'utf8'))};`;
  },
};

const isQuick = (name: string): boolean => name.startsWith('quick');
const isShared = (name: string): boolean => name === 'quick' || name.endsWith('-shared');

export default defineConfig({
  test: {
    reporters: ['default', './tools/plain-count-reporter.ts'],
    projects: TIERS.map(({ name, include, exclude }) => ({
      plugins: [luaAsText],
      // Tests run the sources, not the build. Only tests/packaging and tests/fleet use dist.
      ssr: { resolve: { conditions: ['@spillway/source'] } },
      test: {
        name,
        include: [...include],
        exclude: ['**/node_modules/**', ...exclude],
        globalSetup: isQuick(name) ? [] : ['packages/testkit/src/redis-global-setup.ts'],
        // One at a time, however many cores there are: see tests/tiers.ts. No quick test depends on how long something
        // takes.
        maxWorkers: 1,
        ...(isQuick(name) && { pool: 'threads', maxWorkers: 2, sequence: { groupOrder: 1 } }),
        ...(/-(pairs|late|shared)$/.test(name) && { maxWorkers: 2, sequence: { groupOrder: 2 } }),
        ...(name.endsWith('-waiting') && { maxWorkers: 2, sequence: { groupOrder: 3 } }),
        isolate: !isShared(name),
        setupFiles: isShared(name) ? ['tests/shared.ts'] : [],
        testTimeout: 60_000,
        expect: { poll: { timeout: 20_000 } }, // as `until` of the test kit
        hookTimeout: 30_000,
      },
    })),
  },
});
