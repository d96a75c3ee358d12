/** How the packages are built: ES modules and CommonJS for every host, with declarations. */

import { defineConfig } from 'tsdown';

/**
 * @param {readonly string[]} entries files in `src`, without `.ts`
 * @param {readonly object[]} plugins of the bundler
 */
export function library(entries, plugins = []) {
  return defineConfig({
    entry: entries.map((entry) => `src/${entry}.ts`),
    format: ['esm', 'cjs'],
    dts: { sourcemap: false },
    fixedExtension: false,
    platform: 'neutral',
    target: 'es2022',
    // Whoever reads the code in node_modules has the declarations for what it means.
    outputOptions: { comments: { jsdoc: false } },
    inputOptions: { experimental: { attachDebugInfo: 'none' } },
    plugins: [...plugins],
  });
}
