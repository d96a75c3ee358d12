import { checkCallback } from '../base/checks.js';
import type { NamesOf } from '../base/option-names.js';
import { checkGuardOptions } from '../guard/check.js';
import type { GuardOptions } from '../guard/guard-options.js';
import type { AddressOptions } from '../net/client.js';

/** The options of every gate. */
export type GateOptions<Raw = unknown> = GuardOptions<Raw> & AddressOptions;

/** A list of the names of an adapter's additional options. It does not compile if a name is missing. */
export type OwnNames<Options> = NamesOf<Omit<Options, keyof GateOptions>>;

const ADDRESS_OPTIONS: NamesOf<AddressOptions> = { trustProxy: 1, ipv6Prefix: 1 };

export function extraNames(own: object): object {
  return { ...ADDRESS_OPTIONS, ...own };
}

/**
 * Checks options as a gate does, for adapters that create their gates later or not at all.
 *
 * @param own the names of the adapter's additional options
 * @throws SpillwayError `SPW_STORE_INVALID`, `SPW_OPTION_INVALID`, `SPW_OPTION_UNKNOWN`
 */
export function checkGateOptions<Raw>(
  options: GateOptions<Raw> & { readonly onRejected?: unknown },
  own: object,
): void {
  checkGuardOptions(options, extraNames(own));
  checkCallback('onRejected', options.onRejected);
}
