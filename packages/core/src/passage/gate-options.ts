/** Which options adapters have: those of every gate, and their own. */

import { checkCallback } from '../base/checks.js';
import type { NamesOf } from '../base/option-names.js';
import { checkGuardOptions } from '../guard/check.js';
import type { GuardOptions } from '../guard/options.js';
import type { AddressOptions } from '../net/client.js';

/** The options that every gate knows. */
export type GateOptions<Raw = unknown> = GuardOptions<Raw> & AddressOptions;

/** The names of the options that an adapter has beside those of every gate. The compiler refuses an incomplete list. */
export type OwnNames<Options> = NamesOf<Omit<Options, keyof GateOptions>>;

const ADDRESS_OPTIONS: NamesOf<AddressOptions> = { trustProxy: 1, ipv6Prefix: 1 };

/** All names of an adapter's options but those of a guard. */
export function extraNames(own: object): object {
  return { ...ADDRESS_OPTIONS, ...own };
}

/**
 * Checks options as a gate does, for adapters that make their gates later, or perhaps none.
 *
 * @param own the names of options that the adapter has beside those of every gate
 * @throws SpillwayError `SPW_STORE_INVALID`, `SPW_OPTION_INVALID`, `SPW_OPTION_UNKNOWN`
 */
export function checkGateOptions<Raw>(
  options: GateOptions<Raw> & { readonly onRejected?: unknown },
  own: object,
): void {
  checkGuardOptions(options, extraNames(own));
  checkCallback('onRejected', options.onRejected);
}
