/** Keys as people write them, and the command that resets the count of a key. */

import { type Algorithm, canonicalAddress, type LiveLimits, type Step } from '@spillway/core';
import { type DeclaredNumbers, makeRule, type Rule } from '@spillway/core/store';
import { authorOf } from './author.js';
import { type CommonOptions, connected } from './connection.js';
import { liveOf } from './in-force.js';
import { type AnywayOption, limitersNamed } from './known.js';
import { print } from './output.js';
import { UsageError } from './usage-error.js';

export interface KeyOptions {
  readonly address?: string | undefined;
  readonly ipv6Prefix?: string | undefined;
}

interface ResetOptions extends CommonOptions, KeyOptions, AnywayOption {
  readonly because: string;
  readonly by?: string;
}

const DONE_UNKNOWN =
  'Processes forget that they refused the key. Its counts may not have been found: no process has announced the limiter.';

/** The store finds the counts of a key that are noted, so the numbers of the rule make no difference. */
const ANY_RULE = makeRule('fixed-window', 1, 1_000_000);

const RATES: readonly Algorithm[] = [
  'token-bucket',
  'fixed-window',
  'sliding-window-log',
  'sliding-window-counter',
];

/** The mark by which limiters tell addresses from other keys. */
const ADDRESS_MARK = '@';

/** Whether a command that may be about all keys is about one. */
export function namesKey({ key, address }: KeyOptions & { readonly key?: string }): boolean {
  return key !== undefined || address !== undefined;
}

/**
 * The key that a limiter counts.
 *
 * @throws UsageError unless there is either a key or an address, not both
 */
export function keyFrom(key: string | undefined, { address, ipv6Prefix }: KeyOptions): string {
  if ((key === undefined) === (address === undefined)) {
    throw new UsageError('which key? Give either <key> or --address <address>');
  }
  if (key !== undefined) {
    if (ipv6Prefix !== undefined) warnOfAddress(key); // the command takes addresses
    return key.startsWith(ADDRESS_MARK) ? ADDRESS_MARK + key : key;
  }
  const canonical = canonicalAddress(address, Number(ipv6Prefix));
  if (canonical === undefined) throw new UsageError(`${JSON.stringify(address)} is no address`);
  return ADDRESS_MARK + canonical;
}

/** A key that looks like an address is one only if a `key` function returns addresses, which seldom is so. */
function warnOfAddress(key: string): void {
  const address = key.startsWith(ADDRESS_MARK) ? key.slice(1) : key;
  if (canonicalAddress(address, 128) === undefined) return;
  process.stderr.write(
    `warning: ${key} is taken for a key as your code returns it; for a client address write --address ${address}\n`,
  );
}

function resetOf(limiter: string, key: string, rule: Rule): Step {
  return { op: 'reset', limiter, key, rule, cost: 1, binding: true };
}

/** A key with numbers of its own may be counted under a code that is not noted, for only so many are. */
function rulesOfKey(
  declared: readonly DeclaredNumbers[],
  limits: LiveLimits | undefined,
): readonly Rule[] {
  return limits ? declared.flatMap((numbers) => rateRuleOf(liveOf(numbers, limits))) : [];
}

/** None for what is no rate, or of a later release. */
function rateRuleOf({ algorithm, limit, windowMs, burst }: DeclaredNumbers): readonly Rule[] {
  // As in `fixed-window:first-request`: an anchor stands behind the name.
  const [name = '', anchor] = algorithm.split(':');
  if (windowMs === undefined || !(RATES as readonly string[]).includes(name)) return [];
  const windowUs = windowMs * 1000;
  return [
    makeRule(name as Algorithm, limit, windowUs, burst, anchor as 'first-request' | undefined),
  ];
}

/** Forgets a count in Redis, and makes every process forget that it refused the key. */
export function reset(
  limiter: string,
  key: string | undefined,
  options: ResetOptions,
): Promise<void> {
  const counted = keyFrom(key, options);
  const note = { by: authorOf(options.by), because: options.because };
  return connected({ ...options, isChange: true }, async ({ control, store }) => {
    const named = await limitersNamed(control, limiter, options);
    const isKnown = named !== undefined && named.length > 0;
    const limiters = isKnown ? named : [{ name: limiter, declared: [] }];
    await control.refresh(); // for the limits of the key
    for (const { name, declared } of limiters) {
      const rules = [ANY_RULE, ...rulesOfKey(declared, control.limitsOf?.(name, counted))];
      await store.apply(rules.map((rule) => resetOf(name, counted, rule)));
    }
    await control.forget(limiter, counted, note);
    if (options.json) print(JSON.stringify({ reset: { limiter, key: counted, isKnown } }));
    else print(isKnown ? 'Done: the key counts from zero.' : DONE_UNKNOWN);
  });
}
