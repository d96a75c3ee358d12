/** What decorators write on classes and methods, and how it is read. */

import type { ExecutionContext, Type } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { LimitRequest, StoredLimiter } from '@spillway/core';

/** A limit as a decorator states it; it becomes one of the limiters of each handler that it stands for. */
export interface Declaration {
  /** The class or method that it stands on. */
  readonly on: object;
  /** Undefined: each handler has its own, which is its name with `suffix`. */
  readonly name: string | undefined;
  readonly suffix: '' | '.concurrent';
  /** Whether it keeps answers, which only HTTP routes have. */
  readonly isOnce: boolean;
  make(name: string): StoredLimiter<ExecutionContext>;
}

export const LIMITS = 'spillway:limits';
export const SKIPS = 'spillway:skips';
export const PRIORITY = 'spillway:priority';

const reflector: Reflector = new Reflector();

type Target = Parameters<Reflector['get']>[1];

/**
 * The class that `@Priority` gave the handler of a request, of the method before that of the class; undefined if none
 * did.
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

/** The limits that stand on a class (nearest first, then those of the classes that it extends) or on a method. */
export function declarationsOn(target: object): readonly Declaration[] {
  return reflector.get(LIMITS, target as Target) ?? [];
}

/** What a class or method skips: undefined for nothing, an empty list for everything. */
export function skipsOn(target: object): readonly string[] | undefined {
  return reflector.get(SKIPS, target as Target);
}

/** Whether a method answers HTTP requests of its own: no message, and no operation of GraphQL. */
export function isRoute(handler: object): boolean {
  return reflector.get('path', handler as Target) !== undefined;
}

/** Whether a class is among the interceptors of a handler, or of its class. */
export function hasInterceptor(context: ExecutionContext, interceptor: object): boolean {
  const lists = reflector.getAll<(readonly object[] | undefined)[]>('__interceptors__', [
    context.getHandler(),
    context.getClass(),
  ]);
  return lists.some((list) => list?.includes(interceptor));
}

/** Whether a filter bound to a handler, or to its class, catches an error. */
export function catchesError(context: ExecutionContext, error: Error): boolean {
  const lists = reflector.getAll<(readonly object[] | undefined)[]>('__exceptionFilters__', [
    context.getHandler(),
    context.getClass(),
  ]);
  return lists.flat().some((filter) => {
    if (!filter) return false;
    // Bound as a class or as an instance; a filter that names no exceptions catches all.
    const owner = typeof filter === 'function' ? filter : filter.constructor;
    const types = reflector.get<Type[] | undefined>('__filterCatchExceptions__', owner as Type);
    return !types?.length || types.some((type) => error instanceof type);
  });
}
