import {
  applyDecorators,
  type ExecutionContext,
  SetMetadata,
  UseInterceptors,
} from '@nestjs/common';
import {
  type ConcurrencyLimitOptions,
  concurrencyLimit,
  type IdempotencyOptions,
  idempotency,
  type RateLimitOptions,
  rateLimit,
  SpillwayError,
} from '@spillway/core';
import { SpillwayInterceptor } from './interceptor.js';
import { type Declaration, declarationsOn, LIMITS, PRIORITY, SKIPS } from './metadata.js';

/**
 * Limits the rate of a method, or of each method of a class. Without a name, each method has a separate count named
 * `Class.method`. With a name, all methods share the count of that name, and the limit overrides a limit of the same
 * name on the class or in the module. If the overridden limit has other numbers, this one gets a separate count.
 *
 * @throws SpillwayError as `rateLimit` does; `SPW_NAME_CONFLICT` if the target has another limit of that name, or
 * another rate limit without a name
 * @example
 * ```ts
 * import { Controller, Post } from '@nestjs/common';
 * import { RateLimit } from '@spillway/nestjs';
 *
 * @Controller('exports')
 * class ExportsController {
 *   @Post()
 *   @RateLimit({ limit: 5, window: '1m' })
 *   create() {}
 * }
 * ```
 */
export function RateLimit(
  options: RateLimitOptions<ExecutionContext>,
): MethodDecorator & ClassDecorator {
  const { begin } = rateLimit(options); // wrong options throw at the decorator
  const limit = declare(options.name, '', (name) => rateLimit({ ...options, name }));
  return begin ? intercepted(limit) : limit;
}

/**
 * Limits how many calls of a method, or of each method of a class, are in flight at once. Names work as with {@link
 * RateLimit}; the default is `Class.method.concurrent`. Also binds {@link SpillwayInterceptor}, which releases permits
 * of calls without an HTTP response.
 *
 * @throws SpillwayError as `concurrencyLimit` does; `SPW_NAME_CONFLICT` if the target has another limit of that name,
 * or another concurrency limit without a name
 * @example
 * ```ts
 * import { Controller, Get } from '@nestjs/common';
 * import { ConcurrencyLimit } from '@spillway/nestjs';
 *
 * @Controller('reports')
 * class ReportsController {
 *   @Get()
 *   @ConcurrencyLimit({ limit: 20 })
 *   read() {}
 * }
 * ```
 */
export function ConcurrencyLimit(
  options: ConcurrencyLimitOptions<ExecutionContext>,
): MethodDecorator & ClassDecorator {
  concurrencyLimit(options);
  return intercepted(
    declare(options.name, '.concurrent', (name) => concurrencyLimit({ ...options, name })),
  );
}

/**
 * Runs a method, or each method of a class, once for each idempotency key, as {@link idempotency} does. Only for HTTP
 * routes. Methods whose decorators have the same name (default `'once'`) share keys: a key that was used for another
 * method gets 422. The decorator overrides an `idempotency` of this name on the class or in the module. If the
 * overridden one has other times, such as another `keep`, the decorator's keys are separate. Also binds {@link
 * SpillwayInterceptor}.
 *
 * @throws SpillwayError as `idempotency` does; `SPW_NAME_CONFLICT` if the target already has an `idempotency` of
 * that name. At startup: `SPW_CAPTURE_MISSING` for a method that is not an HTTP route
 * @example
 * ```ts
 * import { Controller, Post } from '@nestjs/common';
 * import { Idempotent, requestOf } from '@spillway/nestjs';
 *
 * @Controller('charges')
 * class ChargesController {
 *   @Post()
 *   @Idempotent({ scope: ({ raw }) => requestOf<{ user?: { id: string } }>(raw).user?.id })
 *   create() {}
 * }
 * ```
 */
export function Idempotent(
  options: IdempotencyOptions<ExecutionContext>,
): MethodDecorator & ClassDecorator {
  const { name } = idempotency(options);
  return intercepted(declare(name, '', (other) => idempotency({ ...options, name: other }), true));
}

/**
 * Turns off limiters of the module and, on a method, also those of its class. Without names, it turns off all of them,
 * including load shedders.
 *
 * @example
 * ```ts
 * import { Controller, Get } from '@nestjs/common';
 * import { SkipRateLimit } from '@spillway/nestjs';
 *
 * @Controller('health')
 * @SkipRateLimit()
 * class HealthController {
 *   @Get()
 *   read() {}
 * }
 * ```
 */
export function SkipRateLimit(...names: string[]): MethodDecorator & ClassDecorator {
  return SetMetadata(SKIPS, names);
}

/**
 * Sets the priority class of a method's or controller's requests, for shedders with `priority: priorityOf` ({@link
 * priorityOf}).
 *
 * @example
 * ```ts
 * import { Controller, Post } from '@nestjs/common';
 * import { Priority } from '@spillway/nestjs';
 *
 * @Controller('charges')
 * @Priority('critical')
 * class ChargesController {
 *   @Post()
 *   create() {}
 * }
 * ```
 */
export function Priority(name: string): MethodDecorator & ClassDecorator {
  return SetMetadata(PRIORITY, name);
}

function intercepted(limit: MethodDecorator & ClassDecorator): MethodDecorator & ClassDecorator {
  return applyDecorators(limit, UseInterceptors(SpillwayInterceptor));
}

function declare(
  name: string | undefined,
  suffix: Declaration['suffix'],
  make: Declaration['make'],
  isOnce = false,
): MethodDecorator & ClassDecorator {
  return (target: object, key?: string | symbol, descriptor?: PropertyDescriptor) => {
    const on: object = descriptor?.value ?? target;
    const known = declarationsOn(on);
    const isSame = (other: Declaration): boolean =>
      other.on === on && other.name === name && (name !== undefined || other.suffix === suffix);
    if (known.some(isSame)) {
      const which = name === undefined ? 'without a name' : `named "${name}"`;
      throw new SpillwayError(
        'SPW_NAME_CONFLICT',
        `${(on as { name?: string }).name} has two limits ${which}: give each a different name`,
      );
    }
    // Decorators run from the last to the first, so prepending restores the order of the source.
    const list: readonly Declaration[] = [{ on, name, suffix, make, isOnce }, ...known];
    applyDecorators(SetMetadata(LIMITS, list))(target, key, descriptor);
  };
}
