import { type Limiter, SpillwayError } from '@spillway/core';
import {
  checkGateOptions,
  Gate,
  type GuardHandle,
  isLater,
  mustBe,
  Notices,
  type Passage,
  tellAdapterFault,
} from '@spillway/core/adapter';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { FastifyExchange } from './fastify-exchange.js';
import { addressingFinder, FastifyLimitRequest } from './fastify-request.js';
import { type Limiters, OWN, type RouteLimits, type SpillwayOptions } from './plugin-options.js';

export type Done = (error?: Error) => void;
type FastifyGate = Gate<FastifyRequest>;
type FastifyLimiter = Limiter<FastifyRequest>;

const TWICE =
  'a limiter is registered for a context and for an outer one, and counts each request once: register it once';

export class Registration implements GuardHandle {
  private readonly options: SpillwayOptions;
  private readonly limiters: readonly FastifyLimiter[];
  private readonly outside = new Set<FastifyLimiter>();
  private readonly groups: ReadonlyMap<string, Limiters>;
  private readonly addressingOf: ReturnType<typeof addressingFinder>;
  private readonly made: { readonly limiters: readonly FastifyLimiter[]; gate: FastifyGate }[] = [];
  private readonly gates = new Map<RouteLimits | undefined, FastifyGate | null>();
  /**
   * Requests that `preHandler` has decided. If a handler calls `reply.callNotFound()`, the hook runs again, and must
   * not count them twice.
   */
  private readonly decided = new WeakSet<FastifyRequest>();
  private readonly outer: Registration | undefined;
  private readonly notices: Notices;

  constructor(options: SpillwayOptions, outer: Registration | undefined) {
    checkGateOptions(options, OWN); // without limiters, no gate would check them
    this.options = options;
    this.limiters = [options.limiters ?? []].flat();
    this.outer = outer;
    this.groups = new Map([...(outer?.groups ?? []), ...groupsOf(options)]);
    this.notices = new Notices(options);
    this.addressingOf = addressingFinder(options, this.notices);
    this.leaveTo(outer);
    for (const limits of [undefined, ...groupsOf(options).keys()]) this.gateOf(limits);
  }

  get inProgress(): number {
    return this.made.reduce((sum, { gate }) => sum + gate.inProgress, 0);
  }

  async close(): Promise<void> {
    await Promise.all(this.made.map(({ gate }) => gate.close()));
  }

  /** Leaves out limiters of `others` and of the registrations around `others`. Call this before the first request. */
  leaveTo(others: Registration | undefined): void {
    for (let other = others; other; other = other.outer) {
      for (const limiter of other.limiters) this.outside.add(limiter);
    }
    this.gates.clear();
    if (this.limiters.some((limiter) => this.outside.has(limiter))) {
      this.notices.tell('SPW_REGISTERED_TWICE', TWICE);
    }
  }

  enter(request: FastifyRequest, reply: FastifyReply, done: Done): void {
    const gate = this.gateFor(request);
    if (!gate) {
      done();
      return;
    }
    const exchange = new FastifyExchange(reply, this.options.onRejected);
    const asking = new FastifyLimitRequest(request, this.addressingOf(request));
    const passage = gate.enter(asking, exchange, request);
    if (isLater(passage)) passage.then((value) => applyPassage(value, exchange, gate, done));
    else applyPassage(passage, exchange, gate, done);
  }

  /**
   * The gate of a route with this `config.spillway`; null if nothing limits it.
   *
   * @throws SpillwayError `SPW_OPTION_INVALID` for an unknown group, and as `createGuard` does
   */
  gateOf(limits: RouteLimits | undefined): FastifyGate | null {
    if (limits === false) return null;
    const known = this.gates.get(limits);
    if (known !== undefined) return known;
    const gate = this.make(limits ?? []);
    this.gates.set(limits, gate);
    return gate;
  }

  private gateFor(request: FastifyRequest): FastifyGate | null {
    try {
      if (this.options.hook === 'preHandler') {
        if (this.decided.has(request)) return null;
        this.decided.add(request);
      }
      const limits = request.routeOptions.config.spillway;
      // If several registrations apply to a route, only the innermost adds the route's limits.
      return this.gateOf(limits && request.server.spillway !== this ? undefined : limits);
    } catch (error) {
      // This can fail only for a route that was declared before the plugin was loaded. All others were checked in
      // onReady.
      tellAdapterFault(this.options, error);
      return this.gateOf(undefined);
    }
  }

  private make(limits: Exclude<RouteLimits, false>): FastifyGate | null {
    const own = [limits].flat().flatMap((one) => (typeof one === 'string' ? this.group(one) : one));
    const all = new Set([...this.limiters, ...own]);
    const limiters = [...all].filter((limiter) => !this.outside.has(limiter));
    if (limiters.length === 0) return null;
    const same = this.made.find((other) => isSame(other.limiters, limiters));
    if (same) return same.gate;
    const gate = new Gate(limiters, this.options, OWN);
    this.made.push({ limiters, gate });
    return gate;
  }

  private group(name: string): Limiters {
    const limiters = this.groups.get(name);
    if (limiters) return limiters;
    const names = [...this.groups.keys()].join(', ') || 'none';
    throw new SpillwayError(
      'SPW_OPTION_INVALID',
      `config.spillway must name one of the plugin's groups (${names}), got "${name}"`,
    );
  }
}

function groupsOf({ groups = {} }: SpillwayOptions): ReadonlyMap<string, Limiters> {
  if (typeof groups !== 'object' || groups === null || Array.isArray(groups)) {
    throw mustBe('groups', 'an object with limiters by name', groups);
  }
  const all = new Map(Object.entries<Limiters>(groups));
  for (const [name, limiters] of all) {
    if ([limiters].flat().length > 0) continue;
    throw new SpillwayError(
      'SPW_LIMITER_INVALID',
      `group "${name}" must have at least one limiter, got an empty list, which limits nothing`,
    );
  }
  return all;
}

function applyPassage(
  passage: Passage,
  exchange: FastifyExchange,
  { report }: FastifyGate,
  done: Done,
): void {
  if (passage === 'pass') {
    done();
  } else if (passage === 'rejected') {
    try {
      exchange.answer(report)?.catch(done);
    } catch (error) {
      done(error as Error);
    }
  }
}

function isSame(some: readonly unknown[], others: readonly unknown[]): boolean {
  return some.length === others.length && some.every((one, index) => one === others[index]);
}
