import { checkFlag, checkOptions } from '../base/check-shapes.js';
import { checkCallback, checkClock, integerBetween } from '../base/checks.js';
import { type Clock, wallClockMs } from '../base/clock.js';
import { type Fingerprint, fingerprint, randomSeed } from '../base/fingerprint.js';
import { showsColors, toConsoleLine } from '../base/host.js';
import type { NamesOf } from '../base/option-names.js';
import type { Decision, Outcome } from '../contract/decision.js';
import type { DecisionEvent, Observer } from '../contract/observer.js';
import type { LimitRequest } from '../contract/request.js';
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
  const { outcomes = REJECTIONS, linesPerSecond = 20, write, clock } = options;
  checkOutcomes(outcomes);
  integerBetween('linesPerSecond', linesPerSecond, 1, 10_000);
  checkCallback('write', write);
  checkClock(clock);
  checkFlag('color', options.color);
  const { color = write === undefined && showsColors() } = options;
  const table = new Table(linesPerSecond, write ?? toConsoleLine, color, clock);
  return {
    // Returns the result of `write`: if it is a promise that rejects, the guard reports a fault.
    onDecision(event, key, request): unknown {
      return outcomes.includes(event.outcome) ? table.writeRow(event, key, request) : undefined;
    },
  };
}

class Table {
  private readonly linesPerSecond: number;
  private readonly write: (line: string) => void;
  private readonly color: boolean;
  private readonly clock: Clock | undefined;
  private seed: Fingerprint | undefined;
  private second = Number.NaN;
  private lines = 0;
  private missing = 0;
  private hasHead = false;

  constructor(
    linesPerSecond: number,
    write: (line: string) => void,
    color: boolean,
    clock: Clock | undefined,
  ) {
    this.linesPerSecond = linesPerSecond;
    this.write = write;
    this.color = color;
    this.clock = clock;
  }

  writeRow(
    event: DecisionEvent,
    key: string | undefined,
    request: LimitRequest | undefined,
  ): unknown {
    const nowMs = this.clock ? this.clock.nowUs() / 1000 : wallClockMs();
    if (!this.hasRoom(nowMs)) return undefined;
    const head = this.hasHead ? [] : [inColumns(COLUMNS.map(([title]) => title))];
    const gap = this.missing > 0 ? [`... ${this.missing} more`] : [];
    this.hasHead = true;
    this.missing = 0;
    const cells = [
      timeOf(nowMs),
      request ? `${request.method} ${request.path}` : '-',
      event.limiter,
      this.shown(key),
      `${event.outcome}${reasonOf(event)}`,
      leftOf(event),
      waitOf(event),
    ];
    const line = inColumns(cells, this.color ? COLORS[event.outcome] : undefined);
    return this.write([...head, ...gap, line].join('\n'));
  }

  private hasRoom(nowMs: number): boolean {
    const second = Math.floor(nowMs / 1000);
    if (second !== this.second) {
      this.second = second;
      this.lines = 0;
    }
    this.lines += 1;
    if (this.lines <= this.linesPerSecond) return true;
    this.missing += 1;
    return false;
  }

  /**
   * The key as printed. Spillway adds `@` to client addresses, to lists, and to keys that begin with `@`; this `@` is
   * removed. Addresses are not shortened; other keys over 8 characters are.
   */
  private shown(key = ''): string {
    const own = key.replace(/^@/, '');
    if (own.length <= 8 || /^@[^@[]/.test(key)) return own;
    this.seed ??= randomSeed();
    const digits = (fingerprint(own, this.seed).lo >>> 16).toString(16).padStart(4, '0');
    return `${own.slice(0, 4)}..${digits}`;
  }
}

function timeOf(ms: number): string {
  const date = new Date(ms);
  const digits = (value: number, count: number): string => `${value}`.padStart(count, '0');
  const [hours, minutes] = [digits(date.getHours(), 2), digits(date.getMinutes(), 2)];
  return `${hours}:${minutes}:${digits(date.getSeconds(), 2)}.${digits(date.getMilliseconds(), 3)}`;
}

function reasonOf({ reason, signal }: Decision): string {
  if (reason === null) return '';
  return signal === undefined ? `: ${reason}` : `: ${reason}, ${signal}`;
}

function leftOf({ remaining, policy }: Decision): string {
  return policy && Number.isFinite(remaining) ? `${remaining} of ${policy.burst}` : '';
}

/**
 * The wait of a rejection, also in shadow mode. Otherwise empty, because the `retryAfterMs` of an allowed request is
 * about the next request.
 */
function waitOf({ reason, retryAfterMs }: Decision): string {
  if (reason === null) return '';
  if (retryAfterMs === Infinity) return 'never passes';
  if (!(retryAfterMs > 0)) return '';
  if (retryAfterMs < 1_000) return `${Math.ceil(retryAfterMs)} ms`;
  return `${Math.ceil(retryAfterMs / 100) / 10} s`;
}

/**
 * Joins cells to a line, and cuts long text. Cells contain client input, and a terminal would obey control characters,
 * so all characters other than printable ASCII are replaced.
 */
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
