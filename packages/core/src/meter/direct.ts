import { checkCost, isPlainObject } from '../base/checks.js';
import type { Eventually } from '../base/host.js';
import type { Decision } from '../contract/decision.js';
import type { Settling } from '../contract/limiter-turn.js';
import type { Reservation } from '../contract/metered-cost.js';
import type { Step, Store } from '../contract/store.js';
import { checkDecision, type DirectClient, type Limit } from '../direct/direct-client.js';
import type { MeteredLimiter, ReserveOptions } from '../direct/limiter-options.js';
import { Releases } from '../engine/releases.js';
import { Charge } from './charge.js';
import type { Resends } from './resends.js';
import { checkUsage } from './usage.js';

export interface Extended<Usage> {
  readonly limiter: MeteredLimiter<Store, Usage>;
  readonly limit: Limit;
  readonly client: DirectClient;
  readonly price: (usage: Usage) => number;
  readonly complete: (step: Step, reservation: Reservation<Usage>) => Step;
  readonly resendsOf: (settling: Settling) => Resends;
}

export function extendLimiter<Usage>(own: Extended<Usage>): void {
  const { limiter, limit, client, price, complete } = own;
  const settling = { releases: new Releases(client.store), observers: client.observers };
  const context = {
    limiter: limit.name,
    settling,
    resends: own.resendsOf(settling),
    onForgiven: () => undefined,
  };
  const reserving = (op: 'take' | 'look', otherwise: Call): Call => {
    return (key, options) => {
      const cost = options?.cost;
      if (typeof key !== 'string' || !isPlainObject(cost)) return otherwise(key, options);
      const { plan, period } = options ?? {};
      const part = limit.part(op, key, 1, limit.settings(), { plan, period });
      if (part.step) part.step = complete(part.step, cost as Reservation<Usage>);
      return client.decide([part], op, ([decision]) => decision as Decision);
    };
  };
  Object.assign(limiter, {
    consume: reserving('take', limiter.consume.bind(limiter) as Call),
    peek: reserving('look', limiter.peek.bind(limiter) as Call),
    settle(decision: Decision, usage: Usage): Eventually<boolean> {
      checkDecision(decision);
      const units = checkCost(price(checkUsage('the usage', usage)));
      const { step, answer } = limit.takeGrant(decision) ?? {};
      if (!step || !answer) return client.known(false);
      const charge = new Charge(step, answer, decision, context);
      const sent = charge.settleNow(units);
      return sent ? sent.then(() => true) : client.known(true);
    },
  });
}

type Call = (key: string, options?: ReserveOptions) => unknown;
