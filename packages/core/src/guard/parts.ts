/** What a guard is made of. */

import type { Control } from '../contract/control.js';
import type { Limiter, StepContext } from '../contract/limiter.js';
import { checkedControl } from '../control/checked-control.js';
import { ResponseWriter } from '../http/response-writer.js';
import { tellOfLimiters } from '../observe/limiter-notices.js';
import { Notices } from '../observe/notices.js';
import { Observers } from '../observe/observers.js';
import { voiceFor } from '../observe/voice.js';
import { Resets } from '../stores/resets.js';
import type { Policies } from '../stores/stack.js';
import { StoreClient } from '../stores/store-client.js';
import { callbackTimeoutOf, checkGuardOptions, checkLimiters } from './check.js';
import { Ending } from './ending.js';
import { KnownDecisions } from './known-decisions.js';
import { Modes } from './modes.js';
import type { GuardOptions } from './options.js';
import { Permits } from './permits/permits.js';
import { Questions } from './questions.js';

export interface Parts<Raw> {
  readonly notices: Notices;
  readonly observers: Observers;
  readonly context: StepContext;
  readonly client: StoreClient;
  readonly permits: Permits;
  readonly questions: Questions<Raw>;
  readonly known: KnownDecisions<Raw>;
  readonly ending: Ending<Raw>;
  readonly writer: ResponseWriter;
}

/**
 * @param extra names of options that are not the guard's, but its adapter's
 * @throws SpillwayError what `createGuard` throws
 */
export function partsOf<Raw>(
  limiters: readonly Limiter<Raw>[],
  options: GuardOptions<Raw>,
  extra: object,
): Parts<Raw> {
  checkGuardOptions(options, extra);
  checkLimiters(limiters, options.store);
  const writer = new ResponseWriter(options.headers, options.blockedStatus);
  const own = {
    onBreaker: (event: Parameters<Permits['onBreaker']>[0]) => permits.onBreaker(event),
  };
  const all = [options, ...(options.observers ?? []), own];
  const observers = new Observers(all, voiceFor(options, options.store));
  const context: StepContext = {
    onStoreError: options.onStoreError ?? 'local',
    fault: (fault) => observers.fault(fault),
    countedAs: undefined,
    callbackTimeoutMs: callbackTimeoutOf(options),
  };
  const client = new StoreClient(options, observers, policiesOf(limiters, context));
  const permits = new Permits(client);
  for (const limiter of limiters) announce(limiter, client, options.control);
  const notices = new Notices(options);
  tellOfLimiters(notices, limiters, client.withoutStore);
  const control = options.control && followed(options.control, client, context);
  const askers = limiters.map((limiter) => {
    const countedAs = options.store ? undefined : client.nameOf(limiter);
    return { limiter, context: { ...context, countedAs } };
  });
  return {
    notices,
    observers,
    context,
    client,
    permits,
    questions: new Questions(askers, new Modes(options.mode, context), control, client),
    known: new KnownDecisions(control, client, context, notices),
    ending: new Ending(limiters, permits, client.clock, context),
    writer,
  };
}

/** What each limiter does when the store cannot answer. */
function policiesOf<Raw>(
  limiters: readonly Limiter<Raw>[],
  { onStoreError }: StepContext,
): Policies {
  return limiters.flatMap((limiter) =>
    limiter.kind === 'stored'
      ? [[limiter.name, limiter.onStoreError ?? onStoreError] as const]
      : [],
  );
}

/** Tells the store and the control of a limiter. */
function announce<Raw>(
  limiter: Limiter<Raw>,
  client: StoreClient,
  control: Control | undefined,
): void {
  const rule = limiter.kind === 'stored' ? limiter.rule : undefined;
  if (rule) client.claim(limiter, rule);
  control?.register?.(limiter.name, rule);
}

/** The control, as it is obeyed. What it changes is forgotten where it is remembered. */
function followed(control: Control, client: StoreClient, context: StepContext): Control {
  const resets = new Resets(control, client);
  return checkedControl(control, context, (limiter) => {
    client.forgetAll();
    try {
      resets.follow(limiter);
    } catch (error) {
      context.fault({ limiter, source: 'control', error });
    }
  });
}
