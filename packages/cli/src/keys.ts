/** Keys as a person writes them, and the command that forgets the count of one. */

import { canonicalAddress, makeRule } from '@spillway/core';
import { authorOf } from './author.js';
import { type CommonOptions, connected } from './connection.js';
import { print } from './output.js';
import { UsageError } from './usage-error.js';

export interface KeyOptions {
  readonly address?: string;
  readonly ipv6Prefix?: string;
}

interface ResetOptions extends CommonOptions, KeyOptions {
  readonly because: string;
  readonly by?: string;
}

/** As limiters tell addresses from keys. */
const ADDRESS_MARK = '@';

/**
 * The key that a limiter counts.
 *
 * @throws UsageError unless there is either a key or an address
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

/** Forgets a count in Redis, and has every process forget that it refused the key. */
export function reset(
  limiter: string,
  key: string | undefined,
  options: ResetOptions,
): Promise<void> {
  const counted = keyFrom(key, options);
  const note = { by: authorOf(options.by), because: options.because };
  return connected(options, async ({ control, store }) => {
    // Whatever is counted there is deleted: the numbers of the rule do not matter.
    const rule = makeRule('fixed-window', 1, 1_000_000);
    const step = { op: 'reset', limiter, key: counted, rule, cost: 1, binding: true } as const;
    await store.apply([step]);
    await control.forget(limiter, counted, note);
    print(
      options.json
        ? JSON.stringify({ reset: { limiter, key: counted } })
        : 'Done: the key counts from zero.',
    );
  });
}
