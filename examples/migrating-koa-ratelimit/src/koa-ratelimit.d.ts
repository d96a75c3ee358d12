/** The part of koa-ratelimit that is used here; the package has no types. */

declare module 'koa-ratelimit' {
  import type { Context, Middleware } from 'koa';

  interface Options {
    readonly driver: 'memory' | 'redis';
    readonly db: object;
    readonly duration?: number;
    readonly max?: number;
    readonly id?: (ctx: Context) => string | false;
    readonly headers?: { remaining?: string; reset?: string; total?: string };
    readonly disableHeader?: boolean;
    readonly errorMessage?: string | object;
    readonly status?: number;
    readonly throw?: boolean;
    readonly namespace?: string;
    readonly whitelist?: (ctx: Context) => boolean | Promise<boolean>;
    readonly blacklist?: (ctx: Context) => boolean | Promise<boolean>;
    readonly onLimited?: (ctx: Context) => void;
  }

  export type { Options };
  export default function ratelimit(options: Options): Middleware;
}
