import type { Step } from '@spillway/core';
import type { Rule } from '@spillway/core/store';
import { bucketMachine } from './bucket.js';
import { calendarMachine } from './calendar.js';
import { claimsMachine } from './claims.js';
import { distinctMachine } from './distinct.js';
import { leasesMachine } from './leases.js';
import { lockMachine } from './lock.js';
import { logMachine } from './log.js';
import type { Machine } from './machine.js';
import { queueMachine } from './queue.js';
import { windowMachine } from './window.js';

/**
 * What a step acts on. The count is identified by the limiter, the key, the rule and the claim's id, but not by the
 * period or the items.
 */
export type Subject = Pick<Step, 'limiter' | 'key' | 'rule' | 'claim' | 'period' | 'items'>;

const machines = {
  bucket: bucketMachine,
  queue: queueMachine,
  window: windowMachine,
  calendar: calendarMachine,
  log: logMachine,
  leases: leasesMachine,
  claims: claimsMachine,
  lock: lockMachine,
  distinct: distinctMachine,
} satisfies Record<Rule['machine'], unknown>;

export function machineOf(rule: Rule): Machine<Rule, unknown> {
  return machines[rule.machine] as unknown as Machine<Rule, unknown>;
}

function sharesCount(a: Rule, b: Rule): boolean {
  return a.machine === b.machine && machineOf(a).shareCount(a, b);
}

interface Count extends Pick<Subject, 'rule' | 'claim'> {
  readonly state: unknown;
}

export function isCount(
  a: Pick<Subject, 'rule' | 'claim'>,
  b: Pick<Subject, 'rule' | 'claim'>,
): boolean {
  return sharesCount(a.rule, b.rule) && a.claim?.id === b.claim?.id;
}

/** A claim without its owner, because the id alone identifies a claim. */
function claimOf({ claim }: Subject): Pick<Subject, 'claim'> {
  return claim ? { claim: { id: claim.id, owner: '' } } : {};
}

export class Counts {
  private readonly limiters = new Map<string, Map<string, Count[]>>();

  stateOf(subject: Subject): unknown {
    return this.all(subject).find((count) => isCount(count, subject))?.state;
  }

  storeState(subject: Subject, state: unknown): void {
    const { limiter, key, rule } = subject;
    const others = this.all(subject).filter((count) => !isCount(count, subject));
    const keys = this.limiters.get(limiter) ?? new Map<string, Count[]>();
    keys.set(key, state === undefined ? others : [...others, { rule, state, ...claimOf(subject) }]);
    this.limiters.set(limiter, keys);
  }

  *[Symbol.iterator](): Generator<Subject & { readonly state: unknown }> {
    for (const [limiter, keys] of this.limiters) {
      for (const [key, counts] of keys) {
        for (const count of counts) yield { limiter, key, ...count };
      }
    }
  }

  private all({ limiter, key }: Subject): readonly Count[] {
    return this.limiters.get(limiter)?.get(key) ?? [];
  }
}
