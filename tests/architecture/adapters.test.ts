/** Each adapter types every limiter of core for the request of its framework; a new limiter needs a line in each. */

import type { ExecutionContext } from '@nestjs/common';
import type * as core from '@spillway/core';
import type * as express from '@spillway/express';
import type * as fastify from '@spillway/fastify';
import type * as hono from '@spillway/hono';
import type * as koa from '@spillway/koa';
import type * as nestjs from '@spillway/nestjs';
import type { Request } from 'express';
import type { FastifyRequest } from 'fastify';
import type { Context } from 'hono';
import { expectTypeOf, it } from 'vitest';

type Core = typeof core;
/** What a function's limiter gets as `raw`; never for a function that makes no limiter. */
// biome-ignore lint/suspicious/noExplicitAny: any arguments
type RawOf<F> = F extends (...options: any) => core.Limiter<infer Raw> ? Raw : never;
/** The functions of core that make limiters: `rateLimit`, `concurrencyLimit` and others. */
type LimiterName = {
  [Name in keyof Core]: [RawOf<Core[Name]>] extends [never] ? never : Name;
}[keyof Core];
/** The type of `raw` in the limiters of an adapter: `unknown` if one of them is core's own. */
type RawIn<Adapter extends Record<LimiterName, unknown>> = {
  [Name in LimiterName]: RawOf<Adapter[Name]>;
}[LimiterName];

// The compiler checks these, in `npm run typecheck`.
it('the limiters of an adapter give callbacks the request of its framework', () => {
  expectTypeOf<LimiterName>().toEqualTypeOf<
    'concurrencyLimit' | 'fleetShedder' | 'idempotency' | 'rateLimit' | 'workerShedder'
  >();
  expectTypeOf<RawIn<Core>>().toEqualTypeOf<unknown>();
  expectTypeOf<RawIn<typeof express>>().toEqualTypeOf<Request>();
  expectTypeOf<RawIn<typeof fastify>>().toEqualTypeOf<FastifyRequest>();
  expectTypeOf<RawIn<typeof hono>>().toEqualTypeOf<Context>();
  expectTypeOf<RawIn<typeof koa>>().toEqualTypeOf<import('koa').Context>();
  expectTypeOf<RawIn<typeof nestjs>>().toEqualTypeOf<ExecutionContext>();
});
