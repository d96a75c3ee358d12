/**
 * When a test file runs: `quick` with `npm run test:quick`, `usual` also with `npm test`, and `slow` only with `npm run
 * test:all`.
 */

import { importsOf, isIn, testFiles, textsOf } from './files.js';

/** Tests that start processes, clusters, package managers or other runtimes, or take long. */
const SLOW = [
  'packages/redis/test/conformance.test.ts',
  'packages/conformance/test/adapter.test.ts',
  'packages/cli/test/',
  'packages/cloudflare/test/conformance.test.ts',
  'packages/cloudflare/test/costs.test.ts',
  'packages/cloudflare/test/failures.test.ts',
  'packages/cloudflare/test/survival.test.ts',
  'packages/cloudflare/test/worker.test.ts',
  'packages/redis/test/groups-on-cluster.test.ts',
  'packages/redis/test/calls-to-nodes.test.ts',
  'packages/redis/test/cluster.test.ts',
  'packages/redis/test/connection.test.ts',
  'packages/redis/test/control/cluster.test.ts',
  'packages/redis/test/node-redis-cluster.test.ts',
  'packages/redis/test/one-node.test.ts',
  'packages/redis/test/shaper-on-cluster.test.ts',
  'packages/redis/test/node-redis.test.ts',
  'tests/adapters/',
  'tests/conformance/postgres.test.ts',
  'tests/edge/',
  'tests/examples/rehearsal.test.ts',
  'tests/examples/runtimes.test.ts',
  'tests/examples/servers.test.ts',
  'tests/fleet/',
  'tests/leases/many.test.ts',
  'tests/leases/one-call.test.ts',
  'tests/leases/outage.test.ts',
  'tests/leases/processes.test.ts',
  'tests/leases/stopped.test.ts',
  'tests/mistakes/',
  'tests/metrics/alertmanager.test.ts',
  'tests/metrics/ops.test.ts',
  'tests/packaging/',
  'tests/proof/planted.test.ts',
  'tests/proof/simulator.test.ts',
  'tests/readme/fenced-charges.test.ts',
  'tests/readme/readme.test.ts',
  'tests/site/site.test.ts',
] as const;

/** Tests that need a Redis, the server of a framework, or more than a second. */
const USUAL = [
  'packages/conformance/test/mutants.test.ts',
  'packages/core/test/calendar/zones.test.ts',
  'packages/core/test/entries.test.ts',
  'packages/core/test/lease-background.test.ts',
  'packages/core/test/lease-outages.test.ts',
  'packages/core/test/lease-renewals.test.ts',
  'packages/core/test/memory/flat-counts.test.ts',
  'packages/core/test/memory/logs.test.ts',
  'packages/core/test/memory/memory-store.test.ts',
  'packages/core/test/memory/space.test.ts',
  'packages/core/test/meter/books.test.ts',
  'packages/core/test/meter/outages.test.ts',
  'packages/core/test/net/address-properties.test.ts',
  'packages/core/test/once/parts.test.ts',
  'packages/core/test/refusals.test.ts',
  'packages/core/test/resilience-probe.test.ts',
  'packages/core/test/resilience-slow.test.ts',
  'packages/core/test/shed/machine.test.ts',
  'packages/core/test/shed/signals.test.ts',
  'packages/core/test/stand-in.test.ts',
  'packages/core/test/who/top-callers.test.ts',
  'packages/express/test/',
  'packages/fastify/test/',
  'packages/hono/test/',
  'packages/koa/test/',
  'packages/nestjs/test/',
  'packages/conformance/test/oracle.test.ts',
  'packages/conformance/test/suite.test.ts',
  'packages/conformance/test/windows.test.ts',
  'packages/core/test/memory/long-keys.test.ts',
  'tests/conformance/receipt-of-rest.test.ts',
  'packages/outgoing/test/fetch/fleet.test.ts',
  'packages/outgoing/test/fetch/quota.test.ts',
  'packages/outgoing/test/shaper/any-order.test.ts',
  'packages/outgoing/test/shaper/concurrency.test.ts',
  'packages/outgoing/test/shaper/fair-permits.test.ts',
  'packages/outgoing/test/shaper/many-jobs.test.ts',
  'packages/outgoing/test/shaper/many-keys.test.ts',
  'packages/outgoing/test/shaper/paces.test.ts',
  'packages/outgoing/test/shaper/promises.test.ts',
  'packages/redis/test/acl.test.ts',
  'packages/redis/test/parts-of-grants.test.ts',
  'packages/redis/test/calendar.test.ts',
  'packages/redis/test/distinct.test.ts',
  'packages/redis/test/claims.test.ts',
  'packages/redis/test/control/followers.test.ts',
  'packages/redis/test/control/lost.test.ts',
  'packages/redis/test/control/lost-often.test.ts',
  'packages/redis/test/control/redis-control.test.ts',
  'packages/redis/test/control/reports.test.ts',
  'packages/redis/test/control/registry.test.ts',
  'packages/redis/test/control/trouble.test.ts',
  'packages/redis/test/edge.test.ts',
  'packages/redis/test/failures.test.ts',
  'packages/redis/test/log-cost.test.ts',
  'packages/redis/test/log.test.ts',
  'packages/redis/test/meters.test.ts',
  'packages/redis/test/numbers.test.ts',
  'packages/redis/test/other-server.test.ts',
  'packages/redis/test/penalty.test.ts',
  'packages/redis/test/prefix.test.ts',
  'packages/redis/test/redis-store.test.ts',
  'packages/redis/test/replies.test.ts',
  'packages/redis/test/rolling-second.test.ts',
  'packages/redis/test/queues.test.ts',
  'packages/redis/test/several-limits.test.ts',
  'packages/redis/test/testing.test.ts',
  'packages/redis/test/restore-from.test.ts',
  'packages/redis/test/thresholds.test.ts',
  'packages/redis/test/upstash.test.ts',
  'packages/redis/test/wording.test.ts',
  'tests/architecture/architecture.test.ts',
  'tests/architecture/doors.test.ts',
  'tests/architecture/typecheck.test.ts',
  'tests/architecture/walk.test.ts',
  'tests/conformance/calendar-as-temporal.test.ts',
  'tests/conformance/memory.test.ts',
  'tests/conformance/overflow.test.ts',
  'tests/conformance/plans-as-oracle.test.ts',
  'tests/conformance/same-on-both.test.ts',
  'tests/conformance/shapers.test.ts',
  'tests/conformance/state.test.ts',
  'tests/examples/accounts.test.ts',
  'tests/examples/addresses.test.ts',
  'tests/examples/bodies.test.ts',
  'tests/examples/clients.test.ts',
  'tests/examples/services.test.ts',
  'tests/examples/start.test.ts',
  'tests/examples/troubleshooting.test.ts',
  'tests/examples/webhooks.test.ts',
  'tests/issues/a-count-of-very-many.test.ts',
  'tests/issues/a-forgiven-part-of-very-many.test.ts',
  'tests/issues/a-late-release-is-a-release.test.ts',
  'tests/issues/a-loop-leaves-the-event-loop-to-others.test.ts',
  'tests/issues/a-receipt-without-units.test.ts',
  'tests/issues/a-refund-of-nothing-beside-something.test.ts',
  'tests/issues/a-renewal-lends-no-deadline.test.ts',
  'tests/issues/a-reply-that-came-during-a-stall.test.ts',
  'tests/issues/a-reset-keeps-its-place.test.ts',
  'tests/issues/a-store-that-is-slow-is-not-waited-for.test.ts',
  'tests/issues/an-answer-that-redis-did-not-take.test.ts',
  'tests/issues/callbacks-run-in-the-context-of-their-request.test.ts',
  'tests/issues/calls-with-keys-of-their-own-keep-no-context.test.ts',
  'tests/issues/limiters-without-number.test.ts',
  'tests/issues/no-map-grows-with-what-clients-send.test.ts',
  'tests/issues/no-timer-keeps-a-request.test.ts',
  'tests/issues/one-bad-key-opens-no-other-breaker.test.ts',
  'tests/issues/remembered-refusals-are-bounded-in-bytes.test.ts',
  'tests/issues/two-releases-share-no-debt.test.ts',
  'tests/issues/x-rate-limit-beside-express-rate-limit.test.ts',
  'tests/metrics/conservation.test.ts',
  'tests/migrating/',
  'tests/model/machine.test.ts',
  'tests/model/scenarios.test.ts',
  'tests/format/',
  'tests/once/calls.test.ts',
  'tests/once/faults.test.ts',
  'tests/pictures/',
  'tests/proof/agreement.test.ts',
  'tests/proof/fuzz.test.ts',
  'tests/proof/linearizable.test.ts',
  'tests/readme/login-sample.test.ts',
  'tests/refusals/',
  'tests/replay/',
  'tests/servers.test.ts',
] as const;

/** Where test files are. */
export const PLACES = ['packages/*/test/**/*.test.ts', 'tests/**/*.test.ts'] as const;

export interface Tier {
  /** A project of vitest: `--project=usual*` runs all whose names begin so. */
  readonly name:
    | `quick${'' | '-alone'}`
    | `${'usual' | 'slow'}${'' | '-pairs' | '-late' | '-waiting' | '-shared'}`;
  /**
   * All files of `usual` or `slow`, only in the project `-pairs`; a name that ends in `/` is a folder. Files in no list
   * are quick.
   */
  readonly names: readonly string[];
  readonly include: readonly string[];
  readonly exclude: readonly string[];
}

/**
 * Files of `usual` and `slow` that run while nothing else does: they measure a time, need one to pass, watch how real
 * processes share a Redis, or use the Redis that all files share. The others run two at once: they calculate on a
 * virtual clock, compile, install, or ask a server of their own, and wait for its answer however late it comes.
 */
export const ALONE = [
  'packages/cli/test/deadline.test.ts',
  'packages/cloudflare/test/costs.test.ts',
  'packages/cloudflare/test/failures.test.ts',
  'packages/cloudflare/test/survival.test.ts',
  'packages/cloudflare/test/worker.test.ts',
  'packages/core/test/entries.test.ts',
  'packages/core/test/shed/signals.test.ts',
  'packages/redis/test/connection.test.ts',
  'packages/redis/test/control/registry.test.ts',
  'packages/redis/test/node-redis.test.ts',
  'packages/redis/test/penalty.test.ts',
  'packages/redis/test/queues.test.ts',
  'packages/redis/test/restore-from.test.ts',
  'packages/redis/test/rolling-second.test.ts',
  'packages/redis/test/several-limits.test.ts',
  'tests/conformance/receipt-of-rest.test.ts',
  'tests/conformance/same-on-both.test.ts',
  'tests/edge/lost-release.test.ts',
  'tests/edge/outage.test.ts',
  'tests/edge/worker.test.ts',
  'tests/examples/servers.test.ts',
  'tests/examples/webhooks.test.ts',
  'tests/fleet/',
  'tests/format/page.test.ts',
  'tests/issues/a-forgiven-part-of-very-many.test.ts',
  'tests/issues/a-late-release-is-a-release.test.ts',
  'tests/issues/a-loop-leaves-the-event-loop-to-others.test.ts',
  'tests/issues/a-refund-of-nothing-beside-something.test.ts',
  'tests/issues/a-renewal-lends-no-deadline.test.ts',
  'tests/issues/a-reply-that-came-during-a-stall.test.ts',
  'tests/issues/a-store-that-is-slow-is-not-waited-for.test.ts',
  'tests/leases/many.test.ts',
  'tests/leases/one-call.test.ts',
  'tests/leases/outage.test.ts',
  'tests/leases/processes.test.ts',
  'tests/leases/stopped.test.ts',
  'tests/once/calls.test.ts',
] as const;

/**
 * Files of `ALONE` that run two at once, but beside nothing else: they start few processes, hardly use the CPU, and
 * mostly wait for a server that is gone to come back, or for a lease to end.
 */
export const WAITING = [
  'packages/cli/test/deadline.test.ts',
  'packages/cloudflare/test/costs.test.ts',
  'packages/cloudflare/test/failures.test.ts',
  'packages/cloudflare/test/survival.test.ts',
  'packages/cloudflare/test/worker.test.ts',
  'packages/redis/test/connection.test.ts',
  'packages/redis/test/node-redis.test.ts',
  'tests/edge/lost-release.test.ts',
  'tests/edge/outage.test.ts',
  'tests/examples/servers.test.ts',
  'tests/fleet/cli-on-sentinel.test.ts',
  'tests/fleet/dead-shard.test.ts',
  'tests/fleet/hung.test.ts',
  'tests/fleet/idle.test.ts',
  'tests/fleet/reserve-first.test.ts',
  'tests/leases/one-call.test.ts',
  'tests/leases/outage.test.ts',
  'tests/leases/processes.test.ts',
  'tests/leases/stopped.test.ts',
] as const;

/** Files in folders of `ALONE` that run beside others, because a busy machine only makes them take longer. */
export const LATE = ['tests/fleet/built-store.test.ts', 'tests/fleet/pace.test.ts'] as const;

/** Adapters whose modules tests may share. */
const ADAPTERS = 'express|fastify|koa|nestjs';

/** Packages whose modules tests may share. */
const SHARED = `core|outgoing|conformance|redis|prometheus|opentelemetry|${ADAPTERS}`;

/** Frameworks, and what their tests use beside them. That of Hono is missing: it replaces global classes. */
const FRAMEWORKS =
  'express4?|compression|fastify(-plugin)?|@fastify/compress|koa2?|koa-compress|@koa/(cors|router)|rxjs|' +
  '@nestjs/(common|core|platform-(express|fastify|ws)|testing|websockets)(/.+)?';

/** Imports that change neither the globals of a process nor the state that our modules keep for a process. */
const HARMLESS = new RegExp(
  `^(vitest|fast-check|ioredis|spillway-testkit(/(adapters|control|http|redis))?|@spillway/(${SHARED})(/.+)?|` +
    `${FRAMEWORKS}|node:.+)$`,
);

/**
 * Matches modules loaded again, counts of timers or of memory, the console, globals, and the listeners and environment
 * of the process. What else a file changes is undone after it, by vitest and by `tests/shared.ts`.
 */
const CHANGES =
  /\bvi\.(getTimerCount|mock|doMock|resetModules|stubGlobal)\b|\b(console|globalThis|memoryUsage|FinalizationRegistry)\b|\bprocess\.(on|once|env)\b/;

/** Sources that a test imports by path: they are the modules that other tests import by name. */
const OURS = new RegExp(`^packages/(${SHARED})/src/`);

/**
 * A process that has made 1,000 limiters without a store logs a warning; this file counts the lines of such limiters.
 */
const COUNTS_LIMITERS = 'packages/core/test/notices.test.ts';

/**
 * Whether a test file may share its modules with others. Such files do, because importing all of core, or a framework,
 * for each file takes longer than its tests.
 */
const mayShare = (file: string): boolean =>
  file !== COUNTS_LIMITERS &&
  importsOf(file, 'values').every((name) => HARMLESS.test(name)) &&
  !textsOf(file, OURS).some((text) => CHANGES.test(text));

const FILES = testFiles();

/** Quick test files that may not share their modules. */
const APART = FILES.filter((file) => !isIn([...USUAL, ...SLOW], file) && !mayShare(file));

const OF_ADAPTER = new RegExp(`^packages/(${ADAPTERS})/`);

/** Files of adapters in `usual` that share their modules. */
const OF_ADAPTERS = FILES.filter(
  (file) => !isIn(ALONE, file) && OF_ADAPTER.test(file) && mayShare(file),
);

const globOf = (name: string): string => (name.endsWith('/') ? `${name}**/*.test.ts` : name);

export const TIERS: readonly Tier[] = [
  {
    name: 'quick',
    names: [],
    include: PLACES,
    exclude: [...USUAL, ...SLOW, ...APART].map(globOf),
  },
  { name: 'quick-alone', names: [], include: APART, exclude: [] },
  ...tiersOf('usual', USUAL),
  ...tiersOf('slow', SLOW),
];

function tiersOf(name: 'usual' | 'slow', names: readonly string[]): Tier[] {
  const alone = ALONE.filter((one) => isIn(names, one)).map(globOf);
  const waiting = WAITING.filter((one) => isIn(names, one));
  const late = LATE.filter((one) => isIn(names, one));
  const shared = OF_ADAPTERS.filter((one) => isIn(names, one));
  const tiers: Tier[] = [
    { name, names: [], include: alone, exclude: [...waiting, ...late] },
    { name: `${name}-late`, names: [], include: late, exclude: [] },
    { name: `${name}-waiting`, names: [], include: waiting, exclude: [] },
    { name: `${name}-shared`, names: [], include: shared, exclude: [] },
    { name: `${name}-pairs`, names, include: names.map(globOf), exclude: [...alone, ...shared] },
  ];
  return tiers.filter(({ include }) => include.length > 0);
}
