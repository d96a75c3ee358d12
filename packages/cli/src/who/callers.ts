/** Callers as commands print them, and as other commands take them. */

import { type CallerCount, type CallerList, CallerSeal, type CallerTops } from '@spillway/core/who';
import { logSecret, type SecretOptions } from '../log-secret.js';
import { plain } from '../plain.js';

export interface RevealOptions extends SecretOptions {
  readonly reveal?: true;
}

/** How many callers of a limiter are shown. */
const SHOWN = 10;

/** Sealed callers begin with it. */
const SEALED = '#';

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

/** The arguments by which other commands name the caller; undefined if it is sealed. */
export function keyArguments(caller: string): string | undefined {
  if (caller.startsWith(SEALED)) return undefined;
  if (/^@\[/.test(caller)) return `--parts ${quoted(caller.slice(1))}`;
  if (/^@[^@]/.test(caller)) return `--address ${quoted(caller.slice(1))}`;
  return quoted(caller.replace(/^@@/, '@'));
}

/** For a POSIX shell. A client may have chosen the text. */
function quoted(text: string): string {
  const shown = plain(text);
  return /^[\w.:@/-]+$/.test(shown) ? shown : `'${shown.replaceAll("'", `'\\''`)}'`;
}

function find(list: CallerList, caller: string): CallerCount {
  const found = list.callers.find((one) => one.caller === caller);
  return found ?? { caller, atLeast: 0, atMost: list.othersAtMost };
}
