/** How the packages are built: ES modules and CommonJS for every host, with declarations. */

import { defineConfig } from 'tsdown';

/** Excludes declarations, which the same build creates. @param {string} id */
const isCode = (id) => !/\.d\.[cm]?ts$/.test(id);

/** Stack traces name functions. */
const keepNames = { function: true, class: true };

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
    // Readers of node_modules find the doc comments in the declarations.
    outputOptions: (options, format) => ({
      ...options,
      comments: { jsdoc: false },
      // Folds constants, because bundlers keep expressions that they cannot evaluate. In ES modules names, lines and
      // statements stay. CommonJS, which only Jest loads on the versions of Node that we support, is made small.
      minify: {
        compress: { joinVars: false, sequences: false, keepNames },
        mangle: format === 'cjs' && { toplevel: false, keepNames },
        codegen: { removeWhitespace: format === 'cjs' },
      },
      // Code that several entries share is one file, because each file costs Node as much time as 20 kB of code.
      advancedChunks: { groups: [{ name: 'shared', test: isCode, minShareCount: 2 }] },
    }),
    inputOptions: (options) => ({
      ...options,
      experimental: { attachDebugInfo: 'none' },
      // Drops declarations of fields that the constructor sets: JavaScript does not need them.
      tsconfig: false,
      transform: {
        ...options.transform,
        typescript: { removeClassFieldsWithoutInitializer: true },
      },
    }),
    plugins: [...plugins],
  });
}
