import { Turns } from '../base/host.js';
import type { Keeper, Keeping } from '../contract/keeping.js';
import type { Limiter } from '../contract/limiter.js';
import type { StepContext } from '../contract/limiter-turn.js';
import type { Observer } from '../contract/observer.js';
import { Releases } from '../engine/releases.js';
import { ResponseWriter } from '../http/response-writer.js';
import { faultLogFor } from '../observe/faults.js';
import { tellOfLimiters, tellOfMissingStore, tellOfShadow } from '../observe/limiter-notices.js';
import { Notices } from '../observe/notices.js';
import { Observers } from '../observe/observers.js';
import { storeTimeoutOf } from '../stores/resilience-options.js';
import { linkTo, StoreClient } from '../stores/store-client.js';
import { callbackTimeoutOf, checkGuardOptions, checkLimiters } from './check.js';
import { Ending } from './guard-admission.js';
import type { GuardOptions } from './guard-options.js';
import { Presence } from './presence.js';
import { SameKey } from './same-key.js';
import { GuardPipeline, Questions } from './turn.js';

export interface Parts<Raw> {
  readonly notices: Notices;
  readonly context: StepContext;
  readonly client: StoreClient;
  readonly releases: Releases;
  /** Lets timers and I/O run even if every callback returns a promise that is already settled. */
  readonly eventLoop: Turns;
  readonly questions: Questions<Raw>;
  readonly pipeline: GuardPipeline<Raw>;
  readonly ending: Ending<Raw>;
  readonly presence: Presence;
  readonly writer: ResponseWriter;
  readonly keeper: Keeper<Raw> | undefined;
  /** Set if a limiter stores responses. */
  readonly keeping: Keeping<Raw> | undefined;
}

export function partsOf<Raw>(
  limiters: readonly Limiter<Raw>[],
  options: GuardOptions<Raw>,
  extra: object,
): Parts<Raw> {
  checkGuardOptions(options, extra);
  checkLimiters(limiters, options.store);
  const writer = new ResponseWriter(options.headers, options.blockedStatus);
  const stored = limiters.filter((limiter) => limiter.kind === 'stored');
  const all = [options as Observer, ...(options.observers ?? [])];
  // After an outage, sends the releases that did not reach the store.
  const outages: Observer = {
    onBreaker: ({ state }) => state !== 'open' && releases.permits?.catchUp(),
  };
  // The store keeps observers of its breaker, and with them the guard, so a guard that holds nothing has none.
  if (stored.some(({ rule }) => !rule || rule.logic.upkeep)) all.push(outages);
  const observers = new Observers(all, faultLogFor(options, options.store));
  const context: StepContext = {
    onStoreError: options.onStoreError ?? 'local',
    fault: (fault) => observers.fault(fault),
    callbackTimeoutMs: callbackTimeoutOf(options),
  };
  const policies = stored.map(
    ({ name, onStoreError }) => [name, onStoreError ?? context.onStoreError] as const,
  );
  const client = new StoreClient(options, observers, policies);
  const control = options.control && linkTo(options.control, client, context);
  const releases = new Releases(client, () => observers.stopListening(outages));
  const [keeping, ...others] = stored.flatMap((limiter) => limiter.keeping ?? []);
  const timeoutMs = storeTimeoutOf(options) / 1000;
  for (const limiter of limiters) {
    const rule = limiter.kind === 'stored' ? limiter.rule : undefined;
    if (rule) client.claim(limiter, rule);
    control?.register(limiter.name, rule);
  }
  const notices = new Notices(options);
  tellOfLimiters(notices, limiters, client.withoutStore);
  tellOfShadow(notices, options.mode, limiters);
  if (!options.store && stored.length > 0) tellOfMissingStore(notices);
  if (options.control) observers.control(options.control);
  const askers = limiters.map((limiter) => {
    const countedAs = options.store ? undefined : client.nameOf(limiter);
    const isKeyed = limiter.kind === 'stored' && limiter.isKeyed === true;
    return {
      limiter,
      context: { ...context, countedAs, live: control, notices, store: client },
      same:
        isKeyed && notices.reports('SPW_KEY_CONSTANT')
          ? new SameKey(limiter.name, notices)
          : undefined,
    };
  });
  return {
    notices,
    context,
    client,
    releases,
    eventLoop: new Turns(),
    questions: new Questions(askers, options.mode, context, control, client),
    pipeline: new GuardPipeline(client, control, observers, context, notices),
    ending: new Ending(limiters, releases, context, timeoutMs, observers),
    presence: new Presence(client.store, client.clock, limiters, notices),
    writer,
    keeping,
    keeper: keeping?.keeper({ context, client, releases, storeTimeoutMs: timeoutMs, others }),
  };
}
