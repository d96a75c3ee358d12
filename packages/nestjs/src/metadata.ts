import type { ExecutionContext, Type } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { LimitRequest, StoredLimiter } from '@spillway/core';

export interface Declaration {
  readonly on: object;
  /** If undefined, each handler has a separate limiter, named after the handler plus `suffix`. */
  readonly name: string | undefined;
  readonly suffix: '' | '.concurrent';
  readonly isOnce: boolean;
  make(name: string): StoredLimiter<ExecutionContext>;
}

export const LIMITS = 'spillway:limits';
export const SKIPS = 'spillway:skips';
export const PRIORITY = 'spillway:priority';

const reflector: Reflector = new Reflector();

type Target = Parameters<Reflector['get']>[1];

/**
 * The priority class that `@Priority` sets on the handler of a request, or else on its controller.
 *
 * @example
 * ```ts
 * import { fleetShedder, priorityOf } from '@spillway/nestjs';
 *
 * fleetShedder({ name: 'fleet', capacity: 1000, priority: priorityOf });
 * ```
 */
export function priorityOf({ raw }: LimitRequest<ExecutionContext>): string | undefined {
  return reflector.getAllAndOverride(PRIORITY, [raw.getHandler(), raw.getClass()]);
}

/** The limits of a class come before those of the classes that it extends. */
export function declarationsOn(target: object): readonly Declaration[] {
  return reflector.get(LIMITS, target as Target) ?? [];
}

/** Returns the skipped names: undefined for none, an empty list for all. */
export function skipsOn(target: object): readonly string[] | undefined {
  return reflector.get(SKIPS, target as Target);
}

export function isRoute(handler: object): boolean {
  return reflector.get('path', handler as Target) !== undefined;
}

export function hasInterceptor(context: ExecutionContext, interceptor: object): boolean {
  const lists = reflector.getAll<(readonly object[] | undefined)[]>('__interceptors__', [
    context.getHandler(),
    context.getClass(),
  ]);
  return lists.some((list) => list?.includes(interceptor));
}

export function catchesError(context: ExecutionContext, error: Error): boolean {
  const lists = reflector.getAll<(readonly object[] | undefined)[]>('__exceptionFilters__', [
    context.getHandler(),
    context.getClass(),
  ]);
  return lists.flat().some((filter) => {
    if (!filter) return false;
    // Filters are bound as a class or an instance. A filter that names no exceptions catches all.
    const owner = typeof filter === 'function' ? filter : filter.constructor;
    const types = reflector.get<Type[] | undefined>('__filterCatchExceptions__', owner as Type);
    return !types?.length || types.some((type) => error instanceof type);
  });
}
