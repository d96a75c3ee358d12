import { checkFlag, checkOptions } from '../base/check-shapes.js';
import { checkCallback, checkClock, integerBetween } from '../base/checks.js';
import { type Clock, wallClockMs } from '../base/clock.js';
import { type Fingerprint, fingerprint, randomSeed } from '../base/fingerprint.js';
import { showsColors, toConsoleLine } from '../base/host.js';
import type { NamesOf } from '../base/option-names.js';
import type { Decision, Outcome } from '../contract/decision.js';
import type { Observer } from '../contract/observer.js';
import { checkOutcomes, REJECTIONS } from './outcomes.js';

export interface DecisionTableOptions {
  /** Which outcomes are printed. Default: `denied`, `would-deny` and `error`. */
  readonly outcomes?: readonly Outcome[] | undefined;
  /** The most lines per second, 1 to 10,000. Default 20. */
  readonly linesPerSecond?: number | undefined;
  /** Writes one line, or several lines joined by `\n`. Default: the console. */
  readonly write?: ((line: string) => void) | undefined;
  /** Whether outcomes are colored. Default: true on the console if it is a terminal and `NO_COLOR` is not set. */
  readonly color?: boolean | undefined;
  /** The clock for the time column and for `linesPerSecond`. Default: the wall clock. */
  readonly clock?: Clock | undefined;
}

const NAMES: NamesOf<DecisionTableOptions> = {
  outcomes: 1,
  linesPerSecond: 1,
  write: 1,
  color: 1,
  clock: 1,
};

const COLUMNS = [
  ['TIME', 12],
  ['REQUEST', 22],
  ['LIMITER', 12],
  ['KEY', 20],
  ['OUTCOME', 23],
  ['LEFT', 10],
  ['WAIT', 0],
] as const;
const OUTCOME_COLUMN = 4;

const RED = 31;
const GREEN = 32;
const YELLOW = 33;
const COLORS: Readonly<Record<Outcome, number>> = {
  allowed: GREEN,
  denied: RED,
  'would-deny': YELLOW,
  replayed: GREEN,
  'would-replay': YELLOW,
  skipped: GREEN,
  error: RED,
};

/**
 * Prints rejections during development: time, request, limiter, key, outcome and reason, remaining units, and the wait.
 * Lines contain raw paths and client addresses, so use `decisionLog` in production. A key that is a client address is
 * cut at 20 characters. Of other keys over 8 characters, which may be secrets, only the first 4 characters and 4 digits
 * of a hash are shown.
 *
 * @throws SpillwayError `SPW_OPTION_INVALID`, `SPW_OPTION_UNKNOWN`
 * @example
 * ```ts
 * import { createGuard, decisionTable, rateLimit } from '@spillway/core';
 *
 * createGuard(rateLimit({ limit: 100, window: '1m' }), { observers: [decisionTable()] });
 * ```
 */
export function decisionTable(options: DecisionTableOptions = {}): Observer {
  checkOptions(options, 'decisionTable()', NAMES);
  const { outcomes = REJECTIONS, linesPerSecond = 20, write = toConsoleLine, clock } = options;
  checkOutcomes(outcomes);
  integerBetween('linesPerSecond', linesPerSecond, 1, 10_000);
  checkCallback('write', options.write);
  checkClock(clock);
  checkFlag('color', options.color);
  const { color = options.write === undefined && showsColors() } = options;
  let seed: Fingerprint | undefined;
  let second = Number.NaN;
  let lines = 0;
  let missing = 0;
  let hasHead = false;
  const hasRoom = (nowMs: number): boolean => {
    const now = Math.floor(nowMs / 1000);
    lines = now === second ? lines + 1 : 1;
    second = now;
    if (lines <= linesPerSecond) return true;
    missing += 1;
    return false;
  };
  return {
    // Returns the result of `write`: if it is a promise that rejects, the guard reports a fault.
    onDecision(event, key, request): unknown {
      if (!outcomes.includes(event.outcome)) return undefined;
      const nowMs = clock ? clock.nowUs() / 1000 : wallClockMs();
      if (!hasRoom(nowMs)) return undefined;
      const head = hasHead ? [] : [inColumns(COLUMNS.map(([title]) => title))];
      const gap = missing > 0 ? [`... ${missing} more`] : [];
      hasHead = true;
      missing = 0;
      seed ??= randomSeed();
      const cells = [
        timeOf(nowMs),
        request ? `${request.method} ${request.path}` : '-',
        event.limiter,
        shownKey(key, seed),
        `${event.outcome}${reasonOf(event)}`,
        leftOf(event),
        waitOf(event),
      ];
      const line = inColumns(cells, color ? COLORS[event.outcome] : undefined);
      return write([...head, ...gap, line].join('\n'));
    },
  };
}

/**
 * The key as printed. Spillway adds `@` to client addresses, to lists, and to keys that begin with `@`; this `@` is
 * removed. Addresses are not shortened; other keys over 8 characters are.
 */
function shownKey(key: string | undefined, seed: Fingerprint): string {
  const own = key?.replace(/^@/, '') ?? '';
  if (own.length <= 8 || /^@[^@[]/.test(key ?? '')) return own;
  const digits = (fingerprint(own, seed).lo >>> 16).toString(16).padStart(4, '0');
  return `${own.slice(0, 4)}..${digits}`;
}

function timeOf(ms: number): string {
  const date = new Date(ms);
  const milliseconds = `${date.getMilliseconds()}`.padStart(3, '0');
  return `${date.toTimeString().slice(0, 8)}.${milliseconds}`; // it begins with HH:mm:ss on every host
}

function reasonOf({ reason, signal }: Decision): string {
  if (reason === null) return '';
  return signal === undefined ? `: ${reason}` : `: ${reason}, ${signal}`;
}

function leftOf({ remaining, policy }: Decision): string {
  return policy && Number.isFinite(remaining) ? `${remaining} of ${policy.burst}` : '';
}

/** Empty for an allowed request, whose `retryAfterMs` is about the next request. */
function waitOf({ reason, retryAfterMs }: Decision): string {
  if (reason === null) return '';
  if (retryAfterMs === Infinity) return 'never passes';
  if (!(retryAfterMs > 0)) return '';
  if (retryAfterMs < 1_000) return `${Math.ceil(retryAfterMs)} ms`;
  return `${Math.ceil(retryAfterMs / 100) / 10} s`;
}

/** Replaces all but printable ASCII: cells have client input, and terminals obey control characters. */
function inColumns(cells: readonly string[], color?: number): string {
  const shown = cells.map((cell, at) => {
    const plain = cell.replace(/[^\x20-\x7e]/g, '?');
    const width = COLUMNS[at]?.[1] ?? 0;
    if (width === 0) return plain;
    const fits = plain.length > width ? `${plain.slice(0, width - 2)}..` : plain.padEnd(width);
    return color !== undefined && at === OUTCOME_COLUMN ? `\u001b[${color}m${fits}\u001b[0m` : fits;
  });
  return shown.join('  ').trimEnd();
}
