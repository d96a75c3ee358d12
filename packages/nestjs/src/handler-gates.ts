import type { ExecutionContext } from '@nestjs/common';
import { type GuardOptions, type Limiter, SpillwayError } from '@spillway/core';
import { Gate, sameRule } from '@spillway/core/adapter';
import { type Declaration, declarationsOn, isRoute, skipsOn } from './metadata.js';
import { MODULE_OPTIONS } from './module-options.js';

type HandlerGate = Gate<ExecutionContext>;
type NestLimiter = Limiter<ExecutionContext>;
type Named = { readonly name: string };

export class HandlerGates {
  /** Gates are found by handler, then by class, because several classes may inherit a method. */
  private readonly known = new WeakMap<object, WeakMap<object, HandlerGate | 'none'>>();
  private readonly made: HandlerGate[] = [];
  /**
   * For each derived name, its class (and method). Another class or method that would get the same name is an error.
   */
  private readonly places = new Map<string, readonly object[]>();
  /** The gate of undecorated HTTP routes. */
  private readonly plain: HandlerGate | 'none';
  /**
   * The gate of undecorated message handlers and resolvers. It has no `idempotency`, because their answers can't be
   * recorded.
   */
  private readonly messages: HandlerGate | 'none';
  private readonly limiters: readonly NestLimiter[];
  private readonly options: GuardOptions<ExecutionContext>;

  constructor(limiters: readonly NestLimiter[], options: GuardOptions<ExecutionContext>) {
    this.limiters = limiters;
    this.options = options;
    this.plain = this.make(limiters);
    this.messages = limiters.some(keeps) ? this.make(limiters.filter(isPassing)) : this.plain;
  }

  gateFor(handler: object & Named, owner: object & Named): HandlerGate | undefined {
    let gates = this.known.get(handler);
    if (!gates) {
      gates = new WeakMap();
      this.known.set(handler, gates);
    }
    let gate = gates.get(owner);
    if (!gate) {
      gate = this.compose(handler, owner);
      gates.set(owner, gate);
    }
    return gate === 'none' ? undefined : gate;
  }

  get inProgress(): number {
    return this.made.reduce((sum, gate) => sum + gate.inProgress, 0);
  }

  async closeGates(): Promise<void> {
    await Promise.all(this.made.map((gate) => gate.close()));
  }

  private make(limiters: readonly NestLimiter[]): HandlerGate | 'none' {
    if (limiters.length === 0) return 'none';
    const gate = new Gate(limiters, this.options, MODULE_OPTIONS);
    this.made.push(gate);
    return gate;
  }

  private compose(handler: object & Named, owner: object & Named): HandlerGate | 'none' {
    const merged = new Map(this.limiters.map((limiter) => [limiter.name, limiter]));
    const method = `${owner.name}.${handler.name}`;
    let isPlain = true;
    for (const target of [owner, handler]) {
      const skips = skipsOn(target);
      const declarations = declarationsOn(target);
      if (target === handler) this.checkPlace(method, handler, declarations);
      if (skips || declarations.length > 0) isPlain = false;
      if (skips?.length === 0) merged.clear();
      for (const name of skips ?? []) merged.delete(name);
      for (const declaration of outermostFirst(declarations)) {
        const { name, suffix } = declaration;
        if (name === undefined) {
          const derived = this.derived(method + suffix, [owner, handler]);
          merged.set(derived, declaration.make(derived));
        } else {
          const outer = merged.get(name);
          merged.set(
            name,
            outer ? this.override(outer, declaration, target, owner) : declaration.make(name),
          );
        }
      }
    }
    if (isRoute(handler)) return isPlain ? this.plain : this.make([...merged.values()]);
    return isPlain ? this.messages : this.make([...merged.values()].filter(isPassing));
  }

  /**
   * Two limiters in one store can't have the same name but different numbers (`SPW_NAME_CONFLICT`). So a limiter that
   * overrides another one with other numbers gets a new name.
   */
  private override(
    outer: NestLimiter,
    declaration: Declaration,
    target: object & Named,
    owner: object & Named,
  ): NestLimiter {
    const limiter = declaration.make(outer.name);
    if (outer.kind !== 'stored' || sameRule(outer.rule, limiter.rule)) return limiter;
    const path = target === owner ? [owner] : [owner, target];
    const name = [...path.map((place) => place.name), declaration.name].join('.');
    return declaration.make(this.derived(name, path));
  }

  private checkPlace(method: string, handler: object, declarations: readonly Declaration[]): void {
    if (isRoute(handler) || !declarations.some(({ isOnce }) => isOnce)) return;
    throw new SpillwayError(
      'SPW_CAPTURE_MISSING',
      `@Idempotent is on ${method}, which is not an HTTP route: remove the decorator`,
    );
  }

  private derived(name: string, path: readonly object[]): string {
    const other = this.places.get(name) ?? path;
    if (other.length !== path.length || other.some((place, index) => place !== path[index])) {
      throw new SpillwayError(
        'SPW_NAME_CONFLICT',
        `two classes or methods would have a limit called "${name}": give each limit a different name`,
      );
    }
    this.places.set(name, path);
    return name;
  }
}

function keeps(limiter: NestLimiter): boolean {
  return limiter?.kind === 'stored' && limiter.keeping !== undefined;
}

function isPassing(limiter: NestLimiter): boolean {
  return !keeps(limiter);
}

/** Puts inherited declarations before a class's own, because the metadata has the reverse order. */
function outermostFirst(declarations: readonly Declaration[]): readonly Declaration[] {
  const targets = [...new Set(declarations.map(({ on }) => on))].reverse();
  return targets.flatMap((target) => declarations.filter(({ on }) => on === target));
}
