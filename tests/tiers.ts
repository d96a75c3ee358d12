/** When a test file runs: `quick` with `npm run test:quick`, `usual` too with `npm test`, `slow` only with `test:all`. */

/** What starts processes, clusters, package managers or other runtimes, or takes long. */
const SLOW = [
  'packages/redis/test/conformance.test.ts',
  'packages/conformance/test/adapter.test.ts',
  'packages/cli/test/',
  'packages/redis/test/branches-on-cluster.test.ts',
  'packages/redis/test/cluster.test.ts',
  'packages/redis/test/connection.test.ts',
  'packages/redis/test/control/cluster.test.ts',
  'packages/redis/test/node-redis-cluster.test.ts',
  'packages/redis/test/shaper-on-cluster.test.ts',
  'packages/redis/test/node-redis.test.ts',
  'tests/adapters/',
  'tests/conformance/postgres.test.ts',
  'tests/edge/',
  'tests/fleet/',
  'tests/leases/many.test.ts',
  'tests/leases/one-call.test.ts',
  'tests/leases/outage.test.ts',
  'tests/leases/processes.test.ts',
  'tests/leases/stopped.test.ts',
  'tests/mistakes/',
  'tests/metrics/alertmanager.test.ts',
  'tests/metrics/ops.test.ts',
  'tests/once/processes.test.ts',
  'tests/packaging/',
  'tests/readme/charge-once.test.ts',
  'tests/readme/fenced-charges.test.ts',
  'tests/readme/readme.test.ts',
] as const;

/** What needs a Redis, the server of a framework, or more than a second. */
const USUAL = [
  'packages/conformance/test/mutants.test.ts',
  'packages/core/test/entries.test.ts',
  'packages/core/test/lease-background.test.ts',
  'packages/core/test/lease-outages.test.ts',
  'packages/core/test/lease-renewals.test.ts',
  'packages/core/test/memory/memory-store.test.ts',
  'packages/core/test/net/address-properties.test.ts',
  'packages/core/test/outgoing/fleet.test.ts',
  'packages/core/test/refusals.test.ts',
  'packages/core/test/resilience-probe.test.ts',
  'packages/core/test/shaper/any-order.test.ts',
  'packages/core/test/shaper/many-keys.test.ts',
  'packages/core/test/shed/signals.test.ts',
  'packages/core/test/stand-in.test.ts',
  'packages/express/test/',
  'packages/fastify/test/',
  'packages/hono/test/',
  'packages/koa/test/',
  'packages/nestjs/test/',
  'packages/conformance/test/oracle.test.ts',
  'packages/conformance/test/suite.test.ts',
  'packages/core/test/memory/long-keys.test.ts',
  'tests/conformance/receipt-of-rest.test.ts',
  'packages/redis/test/acl.test.ts',
  'packages/redis/test/branches.test.ts',
  'packages/redis/test/claims.test.ts',
  'packages/redis/test/control/redis-control.test.ts',
  'packages/redis/test/control/registry.test.ts',
  'packages/redis/test/control/trouble.test.ts',
  'packages/redis/test/edge.test.ts',
  'packages/redis/test/failures.test.ts',
  'packages/redis/test/log-cost.test.ts',
  'packages/redis/test/log.test.ts',
  'packages/redis/test/other-server.test.ts',
  'packages/redis/test/prefix.test.ts',
  'packages/redis/test/redis-store.test.ts',
  'packages/redis/test/replies.test.ts',
  'packages/redis/test/rolling-second.test.ts',
  'packages/redis/test/queues.test.ts',
  'packages/redis/test/several-limits.test.ts',
  'packages/redis/test/testing.test.ts',
  'packages/redis/test/upstash.test.ts',
  'packages/redis/test/wording.test.ts',
  'tests/conformance/memory.test.ts',
  'tests/conformance/overflow.test.ts',
  'tests/conformance/same-on-both.test.ts',
  'tests/conformance/shapers.test.ts',
  'tests/conformance/state.test.ts',
  'tests/issues/a-late-release-is-a-release.test.ts',
  'tests/issues/a-receipt-without-units.test.ts',
  'tests/issues/a-refund-of-nothing-beside-something.test.ts',
  'tests/issues/a-renewal-lends-no-deadline.test.ts',
  'tests/issues/limiters-without-number.test.ts',
  'tests/issues/no-map-grows-with-what-clients-send.test.ts',
  'tests/issues/remembered-refusals-are-bounded-in-bytes.test.ts',
  'tests/issues/two-releases-share-no-debt.test.ts',
  'tests/metrics/conservation.test.ts',
  'tests/model/scenarios.test.ts',
  'tests/once/calls.test.ts',
  'tests/readme/login-sample.test.ts',
  'tests/refusals/',
  'tests/replay/',
  'tests/servers.test.ts',
] as const;

/** Where test files stand. */
export const PLACES = ['packages/*/test/**/*.test.ts', 'tests/**/*.test.ts'] as const;

export interface Tier {
  readonly name: 'quick' | 'usual' | 'slow';
  /** The files that it names; a name that ends in `/` is a folder. Tier `quick` is what no other names. */
  readonly names: readonly string[];
  readonly include: readonly string[];
  readonly exclude: readonly string[];
}

const globOf = (name: string): string => (name.endsWith('/') ? `${name}**/*.test.ts` : name);

export const TIERS: readonly Tier[] = [
  { name: 'quick', names: [], include: PLACES, exclude: [...USUAL, ...SLOW].map(globOf) },
  { name: 'usual', names: USUAL, include: USUAL.map(globOf), exclude: [] },
  { name: 'slow', names: SLOW, include: SLOW.map(globOf), exclude: [] },
];
