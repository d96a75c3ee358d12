/** @koa/cors, which has no types of its own. */

declare module '@koa/cors' {
  import type { Middleware } from 'koa';
  export default function cors(options: { readonly exposeHeaders: readonly string[] }): Middleware;
}
