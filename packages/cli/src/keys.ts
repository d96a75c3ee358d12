/** Keys as people write them, and the command that resets the count of a key. */

import { canonicalAddress } from '@spillway/core';
import { makeRule } from '@spillway/core/store';
import { authorOf } from './author.js';
import { type CommonOptions, connected } from './connection.js';
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
  if (key !== undefined) return key.startsWith(ADDRESS_MARK) ? ADDRESS_MARK + key : key;
  const canonical = canonicalAddress(address, Number(ipv6Prefix));
  if (canonical === undefined) throw new UsageError(`${JSON.stringify(address)} is no address`);
  return ADDRESS_MARK + canonical;
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
    const limiters = isKnown ? named.map(({ name }) => name) : [limiter];
    // The store finds all counts of the key, so the numbers of the rule make no difference.
    const rule = makeRule('fixed-window', 1, 1_000_000);
    for (const name of limiters) {
      await store.apply([
        { op: 'reset', limiter: name, key: counted, rule, cost: 1, binding: true },
      ]);
    }
    await control.forget(limiter, counted, note);
    if (options.json) print(JSON.stringify({ reset: { limiter, key: counted, isKnown } }));
    else print(isKnown ? 'Done: the key counts from zero.' : DONE_UNKNOWN);
  });
}
