import {
  type Algorithm,
  type Anchor,
  type ChangeNote,
  canonicalAddress,
  isSpillwayError,
  type LiveLimits,
  type Step,
} from '@spillway/core';
import { algorithmByName } from '@spillway/core/algorithms';
import {
  type Calendar,
  calendarNamed,
  type DeclaredNumbers,
  makeCalendarRule,
  makeDistinctRule,
  makeLeasesRule,
  makeLockRule,
  makeRule,
  makeShaperRule,
  type Rule,
  withDebt,
} from '@spillway/core/store';
import type { KnownLimiter } from '@spillway/redis';
import { authorOf } from './author.js';
import { type CommonOptions, type Connection, connected } from './connection.js';
import { liveOf } from './in-force.js';
import { type AnywayOption, limitersNamed } from './known.js';
import { lockIn } from './limiters-table.js';
import { print, printJson } from './output.js';
import { UsageError } from './usage-error.js';

export interface KeyOptions {
  readonly parts?: true | undefined;
  readonly address?: string | undefined;
  readonly ipv6Prefix?: string | undefined;
}

interface ResetOptions extends CommonOptions, KeyOptions, AnywayOption {
  readonly because: string;
  readonly by?: string;
}

const DONE_UNKNOWN =
  'Cached rejections of the key are dropped. Its counts may not have been found: no process has announced the limiter.';

const DONE_UNTOLD =
  'Its counts are deleted. But Redis is full, so processes were not notified: one that has cached a rejection of the ' +
  'key may repeat it until the wait that it announced has passed.';

/** The rule of a reset. Any rule will do, because a reset finds all registered counts of the key. */
const ANY_RULE = makeRule('fixed-window', 1, 1_000_000);

/** The prefix of keys that are addresses or lists of parts, to distinguish them from keys that are strings. */
const ADDRESS_MARK = '@';

export function namesKey({ key, address }: KeyOptions & { readonly key?: string }): boolean {
  return key !== undefined || address !== undefined;
}

/**
 * Returns the key as the limiter counts it.
 * @throws UsageError unless exactly one of key and address is given, and it is valid
 */
export function keyFrom(
  key: string | undefined,
  { address, ipv6Prefix, parts }: KeyOptions,
): string {
  if ((key === undefined) === (address === undefined)) {
    throw new UsageError(
      'the key is missing or given twice: write either <key> or --address <address>',
    );
  }
  if (key !== undefined) {
    if (parts) return ADDRESS_MARK + JSON.stringify(partsIn(key));
    if (ipv6Prefix !== undefined) warnOfAddress(key); // only in commands that take addresses
    return key.startsWith(ADDRESS_MARK) ? ADDRESS_MARK + key : key;
  }
  if (ipv6Prefix !== undefined && !/^\d+$/.test(ipv6Prefix)) {
    throw new UsageError(
      `--ipv6-prefix must be a whole number of bits from 32 to 128, got ${ipv6Prefix}`,
    );
  }
  const canonical = canonicalAddress(address, Number(ipv6Prefix));
  if (canonical === undefined) {
    throw new UsageError(`--address must be an IP address, got ${JSON.stringify(address)}`);
  }
  return ADDRESS_MARK + canonical;
}

function partsIn(key: string): readonly string[] {
  try {
    const parts: unknown = JSON.parse(key);
    const isPart = (part: unknown) => typeof part === 'string' && part !== '';
    if (Array.isArray(parts) && parts.length > 0 && parts.every(isPart)) return parts;
  } catch {
    // Text that is not JSON gets the same error as a wrong list.
  }
  throw new UsageError(`with --parts the key must be like '["acme","ada"]', got ${key}`);
}

/**
 * Warns if a key looks like an address. Limiters store client addresses with the prefix `@`, so this key would not
 * match them: the user probably meant `--address`.
 */
function warnOfAddress(key: string): void {
  const address = key.startsWith(ADDRESS_MARK) ? key.slice(1) : key;
  if (canonicalAddress(address, 128) === undefined) return;
  process.stderr.write(
    `warning: ${key} is used as a key that your key function returns; for a client address write --address ${address}\n`,
  );
}

function resetOf(limiter: string, key: string, rule: Rule): Step {
  return { op: 'reset', limiter, key, rule, cost: 1, binding: true };
}

/**
 * The rules of a key's own live limits. A reset must name these rules, because the registry of counts is bounded and
 * may lack the counts of these rules.
 */
function rulesOfKey(
  declared: readonly DeclaredNumbers[],
  limits: LiveLimits | undefined,
): readonly Rule[] {
  if (!limits) return [];
  return declared.flatMap((numbers) => rateRuleOf(liveOf(numbers, limits)).map(inDebt(numbers)));
}

/**
 * Returns a function that adds the declared debt to a rule. The debt is scaled by the ratio of the rule's limit to the
 * declared one.
 */
function inDebt({ debt, limit }: DeclaredNumbers): (rule: Rule) => Rule {
  return (rule) => (debt === undefined ? rule : withDebt(rule, debt, limit));
}

/** Returns a list with the rule of a rate limit or of a limit on distinct items. For other limits, it is empty. */
function rateRuleOf({
  algorithm,
  limit,
  windowMs,
  burst = limit,
}: DeclaredNumbers): readonly Rule[] {
  // The name may have an anchor, as in `fixed-window:first-request`.
  const [name = '', anchor = 'epoch'] = algorithm.split(':');
  if (windowMs === undefined) return [];
  const windowUs = windowMs * 1000;
  if (name === 'distinct') return [makeDistinctRule(limit, windowUs)];
  try {
    const rate = algorithmByName(name as Algorithm);
    return [rate.makeRule(limit, windowUs, burst, anchor as Anchor)];
  } catch {
    return []; // an algorithm that only a later release knows
  }
}

/**
 * The rules of a key's counts. The list is empty for `idempotency()`, because each id has a separate count, and for
 * algorithms that only a later release knows.
 */
export function rulesOf(numbers: DeclaredNumbers): readonly Rule[] {
  const { algorithm, limit, windowMs = 0, burst = 1, open = limit, leaseMs, maxWaitMs } = numbers;
  const [, calendar] = algorithm.split('calendar:');
  if (calendar) return [makeCalendarRule(limit, calendarOf(calendar))].map(inDebt(numbers));
  const lock = lockIn(numbers);
  if (lock)
    return [
      makeLockRule(
        limit,
        windowMs * 1000,
        lock.locksMs.map(microseconds),
        microseconds(lock.forgetMs),
      ),
    ];
  if (leaseMs !== undefined && algorithm === 'concurrency') {
    return [{ ...makeLeasesRule(limit, leaseMs * 1000), open }];
  }
  return maxWaitMs === undefined
    ? rateRuleOf(numbers).map(inDebt(numbers))
    : [makeShaperRule(limit, windowMs * 1000, burst, maxWaitMs * 1000)];
}

function microseconds(ms: number): number {
  return Math.round(ms * 1000);
}

/**
 * Returns the calendar with this name, or `billing` if this release or machine doesn't know the name. A rule with
 * `billing` uses the period that is stored with the count.
 */
function calendarOf(name: string): Calendar {
  try {
    return calendarNamed(name);
  } catch {
    return calendarNamed('billing');
  }
}

interface Reset {
  /**
   * False if no process has announced the limiter, or the list of limiters can't be read. Then some counts of the key
   * may be missed.
   */
  readonly isKnown: boolean;
  /**
   * Whether the processes drop their cached rejections of the key. False if Redis was full: it deleted the counts, but
   * could not store the message to the processes.
   */
  readonly isTold: boolean;
}

export async function forgetCounts(
  connection: Pick<Connection, 'control' | 'store' | 'warning'>,
  limiter: string,
  key: string,
  note: ChangeNote,
  named: readonly KnownLimiter[] | undefined,
): Promise<Reset> {
  const { control, store } = connection;
  const isKnown = named !== undefined && named.length > 0;
  const limiters = isKnown ? named : [{ name: limiter, declared: [] }];
  await control.refresh(); // loads the limits of the key
  for (const { name, declared } of limiters) {
    const rules = [ANY_RULE, ...rulesOfKey(declared, control.limitsOf?.(name, key))];
    await store.apply(rules.map((rule) => resetOf(name, key, rule)));
    if (connection.warning) throw new Error(connection.warning);
  }
  try {
    await control.forget(limiter, key, note);
    return { isKnown, isTold: true };
  } catch (error) {
    if (!isSpillwayError(error) || error.kind !== 'oom') throw error;
    return { isKnown, isTold: false };
  }
}

export function lineOf({ isKnown, isTold }: Reset): string {
  if (!isTold) return DONE_UNTOLD;
  return isKnown ? 'Done: the key counts from zero.' : DONE_UNKNOWN;
}

export function reset(
  limiter: string,
  key: string | undefined,
  options: ResetOptions,
): Promise<void> {
  const counted = keyFrom(key, options);
  const note = { by: authorOf(options.by), because: options.because };
  return connected({ ...options, isChange: true }, async (connection) => {
    const named = await limitersNamed(connection.control, limiter, options);
    const found = await forgetCounts(connection, limiter, counted, note, named);
    if (options.json) printJson({ reset: { limiter, key: counted, ...found } });
    else print(lineOf(found));
  });
}
