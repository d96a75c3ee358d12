import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import * as core from '@spillway/core';
import { holderOf } from './call.js';

type NestMeter<Usage> = core.Meter<Usage, ExecutionContext>;

/**
 * {@link core.meter}, whose callbacks get Nest's ExecutionContext as `raw`. Handlers get the usage from
 * {@link Metered}; interceptors and guards get it from the meter's `of(context)` or, for HTTP, `of(request)`.
 */
export function meter<Usage = number>(
  options?: core.MeterOptions<Usage, ExecutionContext>,
): NestMeter<Usage> {
  const own = core.meter(options);
  const of: NestMeter<Usage>['of'] = (given) => own.of(isContext(given) ? holderOf(given) : given);
  return Object.create(own, { of: { value: of } }) as NestMeter<Usage>;
}

/**
 * Injects the usage of a call, {@link core.Spent}, into a parameter of its handler.
 *
 * @example
 * ```ts
 * import { Controller, Get } from '@nestjs/common';
 * import { Metered, meter, RateLimit, requestOf, type Spent } from '@spillway/nestjs';
 *
 * const rows = meter({ reserve: () => 100 });
 *
 * @Controller('exports')
 * class ExportsController {
 *   @Get()
 *   @RateLimit({
 *     limit: 10_000,
 *     window: '1h',
 *     key: ({ raw }) => requestOf<{ user?: { id: string } }>(raw).user?.id,
 *     cost: rows.cost((count) => count),
 *   })
 *   read(@Metered(rows) spent: Spent<number>): void {
 *     spent.settle(12);
 *   }
 * }
 * ```
 */
export function Metered<Usage>(usage: NestMeter<Usage>): ParameterDecorator {
  return createParamDecorator((_: unknown, context: ExecutionContext) =>
    usage.of(holderOf(context)),
  )();
}

function isContext(given: object): given is ExecutionContext {
  return typeof (given as Partial<ExecutionContext>).getHandler === 'function';
}
