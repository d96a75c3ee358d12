/**
 * The modules ("rooms") of the packages, and what each may import. `docs/how-it-works.md` shows the layers ("floors")
 * of core.
 *
 * A module is a folder of a package's `src`, or a file directly in `src`. It imports only from lower layers, types
 * included; `beside` names exceptions in its own layer. No module imports an entry point ("door") of its package.
 */

export interface Room {
  readonly floor: number;
  /** Modules in the same layer that it may import. */
  readonly beside?: readonly string[];
  /** The only modules that it may import, if not all in lower layers. */
  readonly only?: readonly string[];
  /**
   * For a module that imports only types from our other packages, to calculate everything itself: its files that may
   * import values.
   */
  readonly values?: readonly string[];
  /** Third-party imports that this module may have although its package may not. */
  readonly outside?: readonly string[];
}

export interface Package {
  /** Omitted if all files of the package are one module. */
  readonly rooms?: Readonly<Record<string, Room>>;
  /** Our other packages that it may import. */
  readonly uses: readonly string[];
  /** Third-party packages that it may import. Default: those that its package.json names, which the linter checks. */
  readonly outside?: readonly string[];
}

const DOOR: Room = { floor: 9 };

const FOR_ADAPTERS = ['@spillway/core', '@spillway/core/adapter', '@spillway/core/testing'];
const OVER_NODE = [...FOR_ADAPTERS, '@spillway/core/node'];
const FOR_METRICS = ['@spillway/core', '@spillway/core/adapter'];

export const WALLS: Readonly<Record<string, Package>> = {
  core: {
    uses: [],
    outside: [],
    rooms: {
      base: { floor: 0 },
      contract: { floor: 0, beside: ['base'] },
      algorithms: { floor: 1 },
      memory: { floor: 2 },
      limits: { floor: 2 },
      shed: { floor: 2, beside: ['limits'] },
      control: { floor: 2, beside: ['limits'] },
      http: { floor: 2 },
      observe: { floor: 3 },
      stores: { floor: 3, beside: ['observe'] },
      engine: { floor: 3, beside: ['observe', 'stores'] },
      state: { floor: 4 },
      guard: { floor: 4 },
      direct: { floor: 4 },
      meter: { floor: 4, beside: ['direct'] },
      net: { floor: 5, only: ['base'] },
      passage: { floor: 5, beside: ['net'] },
      node: { floor: 5, beside: ['net', 'passage'], outside: ['node:http'] },
      fetch: { floor: 5, beside: ['net', 'passage'] },
      once: { floor: 6 },
      'index.ts': DOOR,
      'algorithms.ts': DOOR,
      'store.ts': DOOR,
      'adapter.ts': DOOR,
      'node.ts': DOOR,
      'fetch.ts': DOOR,
      'control.ts': DOOR,
      'direct.ts': DOOR,
      'compare.ts': DOOR,
      'who.ts': DOOR,
      'testing.ts': DOOR,
    },
  },
  outgoing: {
    uses: ['', '/adapter', '/control', '/direct', '/fetch', '/store'].map(
      (door) => `@spillway/core${door}`,
    ),
    rooms: {
      shaper: { floor: 0 },
      fetch: { floor: 1 },
      'index.ts': DOOR,
      'undici.ts': DOOR,
    },
  },
  redis: {
    uses: ['', '/store', '/control', '/direct', '/adapter', '/who'].map(
      (door) => `@spillway/core${door}`,
    ),
    rooms: {
      'host.ts': { floor: 0 },
      'check-options.ts': { floor: 0 },
      'failures.ts': { floor: 0 },
      'hash-slot.ts': { floor: 0 },
      lua: { floor: 0 },
      'lua.d.ts': { floor: 0 },
      algorithms: { floor: 0 },
      clients: { floor: 1 },
      codec: { floor: 1 },
      calls: { floor: 2 },
      control: { floor: 3 },
      'redis-store.ts': { floor: 4 },
      'index.ts': DOOR,
      'testing.ts': DOOR,
    },
  },
  cloudflare: {
    uses: ['', '/store', '/direct', '/adapter'].map((door) => `@spillway/core${door}`),
    rooms: {
      'platform.ts': { floor: 0 },
      'failures.ts': { floor: 0 },
      wire: { floor: 1 },
      object: { floor: 2 },
      store: { floor: 2 },
      'rate-limit-object.ts': { floor: 3 },
      'approximate-limit.ts': { floor: 3 },
      'index.ts': DOOR,
      'testing.ts': DOOR,
    },
  },
  conformance: {
    uses: ['@spillway/core', '@spillway/core/fetch', '@spillway/core/store'],
    rooms: {
      'harness.ts': { floor: 0 },
      'rules.ts': { floor: 0 },
      oracle: { floor: 0, values: ['oracle/group.ts'] },
      'oracle.ts': { floor: 1, values: [] },
      'probe.ts': { floor: 2 },
      'property.ts': { floor: 1 },
      'moves.ts': { floor: 2 },
      'trace.ts': { floor: 3 },
      'trace-replay.ts': { floor: 4 },
      checks: { floor: 5 },
      'suite.ts': { floor: 6 },
      adapter: { floor: 1, only: ['harness.ts'] },
      simulator: { floor: 5, only: ['oracle.ts', 'probe.ts'] },
      'simulator.ts': DOOR,
      'index.ts': DOOR,
    },
  },
  express: { uses: OVER_NODE },
  koa: { uses: OVER_NODE },
  fastify: { uses: OVER_NODE },
  hono: { uses: [...OVER_NODE, '@spillway/core/fetch'] },
  nestjs: { uses: [...OVER_NODE, '@spillway/core/store'] },
  prometheus: { uses: FOR_METRICS },
  opentelemetry: { uses: FOR_METRICS },
  cli: {
    uses: ['', '/adapter', '/algorithms', '/control', '/store', '/testing', '/who']
      .map((door) => `@spillway/core${door}`)
      .concat('@spillway/redis'),
  },
};
