/** Loaded before a server: makes its imports of Express resolve to Express 4. */

import { register } from 'node:module';

const express4 = JSON.stringify(import.meta.resolve('express4'));
const hook = `export const resolve = (specifier, context, next) =>
  next(specifier === 'express' ? ${express4} : specifier, context);`;
register(`data:text/javascript,${encodeURIComponent(hook)}`);
