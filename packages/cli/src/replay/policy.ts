import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import {
  createGuard,
  type Guard,
  type GuardLimiter,
  type GuardOptions,
  type Limiter,
} from '@spillway/core';
import type { DeclaredNumbers } from '@spillway/core/store';
import { messageOf } from '../output.js';
import { UsageError } from '../usage-error.js';
import { ALGORITHMS } from './algorithms.js';

/** A limiter, a list of limiters, or a guard of `createGuard`. */
export type Policy = Limiter<never> | readonly Limiter<never>[] | Guard<never>;

/** @throws UsageError if the module cannot be loaded, or its default export is not an object */
export async function loadPolicy(path: string): Promise<Policy> {
  let exported: unknown;
  try {
    exported = ((await import(pathToFileURL(resolve(path)).href)) as { default?: unknown }).default;
  } catch (error) {
    const text = messageOf(error);
    const why = text.replace(/\nRequire stack:.*$/s, ''); // a CommonJS module adds the files that required it
    const [, missing] =
      /^Cannot find (?:package|module) '((?:@[^/']+\/)?[^@~#./':\\][^/':\\]*)[/']/.exec(text) ?? [];
    // With npx, the packages of this program are in another folder.
    const advice = missing === undefined ? '' : `. In its folder, run: npm install ${missing}`;
    throw new UsageError(`cannot load the policy ${path}: ${why}${advice}`);
  }
  // TypeScript puts the default export of a CommonJS module one level deeper.
  const policy = (exported as { default?: unknown } | undefined)?.default ?? exported;
  if (typeof policy === 'object' && policy !== null) return policy as Policy;
  throw new UsageError(
    `${path} must export a policy as default: a limiter, an array of limiters, or a guard of createGuard()`,
  );
}

/**
 * A guard that decides as the policy does, with `options` in place of the policy's options.
 *
 * @throws SpillwayError as `createGuard` does
 */
export function guardOf(policy: Policy, options: GuardOptions): Guard {
  if ('admit' in policy) return (policy as unknown as Guard).withOptions(options);
  const limiters = (Array.isArray(policy) ? policy : [policy]) as Limiter[];
  // A log cannot judge other limiters, because they need responses, or hold permits until a request ends.
  const rates = limiters.filter((limiter) => isRate(limiter));
  return createGuard(rates.length > 0 ? rates : limiters, options);
}

export function limitersOf(policy: Policy): readonly GuardLimiter[] {
  if ('admit' in policy) return policy.limiters;
  const limiters = (Array.isArray(policy) ? policy : [policy]) as (GuardLimiter & Limiter)[];
  return limiters.map(({ name, kind, rule, mode, finish }) => {
    return { name, kind, rule, mode, refunds: finish !== undefined };
  });
}

export function numbersOf(limiter: {
  readonly rule?: GuardLimiter['rule'] | undefined;
}): (DeclaredNumbers & { readonly windowMs: number }) | undefined {
  const { rule } = limiter;
  if (!rule || !isRate(limiter)) return undefined;
  return rule.logic.declared(rule) as DeclaredNumbers & { readonly windowMs: number };
}

function isRate(limiter: object): boolean {
  // The value can be anything that a policy exports. The guard throws later if it is not a limiter.
  const rule = (limiter as Partial<GuardLimiter> | undefined)?.rule;
  return rule?.logic !== undefined && whyNot(rule) === undefined;
}

/** The algorithms whose limits a log can judge. */
const JUDGED: readonly string[] = ['distinct', ...ALGORITHMS.map(({ name }) => name)];

const REASONS: Readonly<Record<string, string>> = {
  calendar: 'Limits by calendar are not judged.',
  concurrency: 'A log cannot judge it: it limits requests in progress.',
  lock: 'Limits that lock callers are not judged.',
};

/** Why a log cannot judge a limiter with this rule; undefined if it can. */
export function whyNot(rule: GuardLimiter['rule']): string | undefined {
  const [algorithm = ''] = rule?.logic?.declared(rule).algorithm.split(':') ?? [];
  if (JUDGED.includes(algorithm)) return undefined;
  return REASONS[algorithm] ?? 'A log cannot judge it: it is no limit of requests per window.';
}
