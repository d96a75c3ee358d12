import { type CallerCount, type CallerList, CallerSeal, type CallerTops } from '@spillway/core/who';
import { logSecret, type SecretOptions } from '../log-secret.js';
import { plain } from '../plain.js';

export interface RevealOptions extends SecretOptions {
  readonly reveal?: true;
}

/** How many callers are shown, besides those with more than {@link ALWAYS_SHOWN} in one of the two lists. */
const SHOWN = 20;

/** A share of the rejections: docs/who.md promises all callers with more. */
const ALWAYS_SHOWN = 0.06;

/** Matches a key that `topCallers` has cut to 256 UTF-16 units. */
const CUT_KEY = /^.{127}….{128}$/s;

type Tops = Readonly<Record<keyof CallerTops, CallerList>>;

/**
 * With `--reveal`, decrypts callers that processes have encrypted with the secret.
 * @throws UsageError if `--reveal` is given without a secret
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

/**
 * Returns the callers to show, sorted by the larger of their shares in the last minute and in the last 15 minutes: the
 * first 20, and all whose share is above {@link ALWAYS_SHOWN}.
 */
export function callersOf({ minute, quarter }: Tops): readonly string[] {
  const names = [...minute.callers, ...quarter.callers].map(({ caller }) => caller);
  const share = (caller: string): number =>
    Math.max(...[minute, quarter].map((list) => shareOf(list, caller) ?? 0));
  const ranked = [...new Set(names)].sort((a, b) => share(b) - share(a));
  return ranked.filter((caller, at) => at < SHOWN || share(caller) > ALWAYS_SHOWN);
}

/** Returns `120`, or `110 to 120` if the count is not exact. */
export function countText(list: CallerList, caller: string): string {
  const { atLeast, atMost } = find(list, caller);
  return atLeast === atMost
    ? numberText(atLeast)
    : `${numberText(atLeast)} to ${numberText(atMost)}`;
}

/**
 * A lower bound of the caller's share of all rejections, rounded, such as `87%`; empty without rejections or a caller.
 */
export function shareText(list: CallerList, caller: string | undefined): string {
  const share = shareOf(list, caller);
  return share === null ? '' : `${Math.round(100 * share)}%`;
}

/** Like {@link shareText}, but from 0 to 1 and not rounded; null without rejections or a caller. */
export function shareOf(list: CallerList, caller: string | undefined): number | null {
  if (list.total === 0 || caller === undefined) return null;
  return find(list, caller).atLeast / list.total;
}

export function numberText(count: number): string {
  return count.toLocaleString('en-US');
}

/** A hidden caller begins with `#`. A key of an app may do so too, but rarely matches the whole pattern. */
export function isSealed(caller: string): boolean {
  return /^#[\w-]{16,}$/.test(caller);
}

/**
 * The arguments that name the caller in another command; they follow that command's options. Undefined if the caller is
 * hidden by a secret, cut, or has characters that a terminal would not show.
 */
export function keyArguments(caller: string): string | undefined {
  if (isSealed(caller) || CUT_KEY.test(caller) || plain(caller) !== caller) return undefined;
  if (/^@\[/.test(caller)) return `--parts ${quoted(caller.slice(1))}`;
  if (/^@[^@]/.test(caller)) return addressArguments(caller.slice(1));
  const key = caller.replace(/^@@/, '@');
  // A client may have chosen a key that looks like an option.
  return key.startsWith('-') ? `-- ${quoted(key)}` : quoted(key);
}

/** An IPv6 caller is a /64 network, unless the service sets another `ipv6Prefix`. */
function addressArguments(address: string): string {
  const [start = '', bits = start.includes(':') ? '128' : '64'] = address.split('/');
  const network = bits === '64' ? '' : ` --ipv6-prefix ${quoted(bits)}`;
  return `--address ${quoted(start)}${network}`;
}

/** Quotes text for a POSIX shell, because a client may have chosen it. */
export function quoted(text: string): string {
  return /^[\w.:@/-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

function find(list: CallerList, caller: string): CallerCount {
  const found = list.callers.find((one) => one.caller === caller);
  return found ?? { caller, atLeast: 0, atMost: list.othersAtMost };
}
