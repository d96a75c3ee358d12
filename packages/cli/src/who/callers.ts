/** Callers as commands print them, and as other commands take them. */

import { type CallerCount, type CallerList, CallerSeal, type CallerTops } from '@spillway/core/who';
import { logSecret, type SecretOptions } from '../log-secret.js';
import { plain } from '../plain.js';

export interface RevealOptions extends SecretOptions {
  readonly reveal?: true;
}

/** How many callers of a limiter are shown. */
const SHOWN = 10;

/** A key that was too long: see `topCallers`. */
const CUT = /^.{127}….{128}$/su;

type Tops = Readonly<Record<keyof CallerTops, CallerList>>;

/**
 * Returns a function that reveals sealed callers, if the options say so.
 *
 * @throws UsageError if there is no secret
 */
export function revealer(options: RevealOptions): (tops: CallerTops) => Tops {
  if (!options.reveal) return (tops) => tops;
  const seal = new CallerSeal(logSecret(options));
  const revealed = (list: CallerList): CallerList => ({
    ...list,
    callers: list.callers.map((one) => ({ ...one, caller: seal.reveal(one.caller) ?? one.caller })),
  });
  return ({ minute, quarter }) => ({ minute: revealed(minute), quarter: revealed(quarter) });
}

/** The callers of both windows: first those of the last minute. */
export function callersOf({ minute, quarter }: Tops): readonly string[] {
  const all = [...minute.callers, ...quarter.callers].map(({ caller }) => caller);
  return [...new Set(all)].slice(0, SHOWN);
}

/** `120`, or `110 to 120` if the count is not exact. */
export function countText(list: CallerList, caller: string): string {
  const { atLeast, atMost } = find(list, caller);
  return atLeast === atMost
    ? numberText(atLeast)
    : `${numberText(atLeast)} to ${numberText(atMost)}`;
}

/** The part of all rejections that is the caller's at least, such as `87%`; empty if there are none. */
export function shareText(list: CallerList, caller: string | undefined): string {
  const share = shareOf(list, caller);
  return share === null ? '' : `${Math.round(100 * share)}%`;
}

/** From 0 to 1; null if nobody was rejected. */
export function shareOf(list: CallerList, caller: string | undefined): number | null {
  if (list.total === 0 || caller === undefined) return null;
  return find(list, caller).atLeast / list.total;
}

export function numberText(count: number): string {
  return count.toLocaleString('en-US');
}

/** Whether a secret hides the caller. A key of an app may begin with the same mark, but is no such text. */
export function isSealed(caller: string): boolean {
  return /^#[\w-]{16,}$/.test(caller);
}

/**
 * The arguments by which other commands name the caller, after their options; undefined if it cannot be written: it is
 * sealed, cut, or has characters that a terminal would not show.
 */
export function keyArguments(caller: string): string | undefined {
  if (isSealed(caller) || CUT.test(caller) || plain(caller) !== caller) return undefined;
  if (/^@\[/.test(caller)) return `--parts ${quoted(caller.slice(1))}`;
  if (/^@[^@]/.test(caller)) return addressArguments(caller.slice(1));
  const key = caller.replace(/^@@/, '@');
  // A client may have chosen a key that looks like an option.
  return key.startsWith('-') ? `-- ${quoted(key)}` : quoted(key);
}

/** An address of IPv6 is counted by its network, of 64 bits unless the service has another `ipv6Prefix`. */
function addressArguments(address: string): string {
  const [start = '', bits = start.includes(':') ? '128' : '64'] = address.split('/');
  const network = bits === '64' ? '' : ` --ipv6-prefix ${quoted(bits)}`;
  return `--address ${quoted(start)}${network}`;
}

/** For a POSIX shell. A client may have chosen the text. */
export function quoted(text: string): string {
  return /^[\w.:@/-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

function find(list: CallerList, caller: string): CallerCount {
  const found = list.callers.find((one) => one.caller === caller);
  return found ?? { caller, atLeast: 0, atMost: list.othersAtMost };
}
