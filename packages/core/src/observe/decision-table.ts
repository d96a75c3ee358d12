/** An observer for development: a line on the console for each refusal, in columns. */

import { checkFlag, checkOptions } from '../base/check-shapes.js';
import { checkCallback, checkClock, integerBetween } from '../base/checks.js';
import { type Clock, wallClockMs } from '../base/clock.js';
import { type Fingerprint, fingerprint, randomSeed } from '../base/fingerprint.js';
import { showsColors, toConsoleLine } from '../base/host.js';
import type { NamesOf } from '../base/option-names.js';
import type { Decision, Outcome } from '../contract/decision.js';
import type { DecisionEvent, Observer } from '../contract/observer.js';
import type { LimitRequest } from '../contract/request.js';
import { checkOutcomes, REFUSED } from './outcomes.js';

/** Options of {@link decisionTable}. */
export interface DecisionTableOptions {
  /** Which outcomes get a line. Default those that are not an answer of a handler: `denied`, `would-deny`, `error`. */
  readonly outcomes?: readonly Outcome[] | undefined;
  /** How many lines a second at most, 1 to 10,000. The first line after them says how many are missing. Default 20. */
  readonly linesPerSecond?: number | undefined;
  /** Takes a line, or several with `\n` between them: the head, or how many are missing. Default: the console. */
  readonly write?: ((line: string) => void) | undefined;
  /** Whether outcomes have colours. Default: with the console, if it is a terminal and `NO_COLOR` is not set. */
  readonly color?: boolean | undefined;
  /** What tells the time of a line. Default: the wall clock. */
  readonly clock?: Clock | undefined;
}

const NAMES: NamesOf<DecisionTableOptions> = {
  outcomes: 1,
  linesPerSecond: 1,
  write: 1,
  color: 1,
  clock: 1,
};

/** The columns with their widths; the last one has none. */
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
 * Prints refusals while you develop: when, which request, which limiter, under which key, why, how much is left, and
 * how long to wait. Lines have local time, and paths and addresses as they came, so it is not for production: take
 * `decisionLog` there. A key of more than 8 characters, which may be a secret, is shown as its first 4 and 4 digits
 * that are the same for the same key until the process ends.
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
  const { outcomes = REFUSED, linesPerSecond = 20, write, clock } = options;
  checkOutcomes(outcomes);
  integerBetween('linesPerSecond', linesPerSecond, 1, 10_000);
  checkCallback('write', write);
  checkClock(clock);
  checkFlag('color', options.color);
  const { color = write === undefined && showsColors() } = options;
  const table = new Table(linesPerSecond, write ?? toConsoleLine, color, clock);
  return {
    // What `write` returns is returned: if it is a promise that rejects, the guard reports a fault.
    onDecision(event, key, request): unknown {
      return outcomes.includes(event.outcome) ? table.tell(event, key, request) : undefined;
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

  tell(event: DecisionEvent, key: string | undefined, request: LimitRequest | undefined): unknown {
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

  /** Addresses begin with `@`, and keys of an app that begin so with two. */
  private shown(key = ''): string {
    if (/^@[^@]/.test(key)) return key.slice(1);
    const own = key.replace(/^@@/, '@');
    if (own.length <= 8) return own;
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

/** Of what passes the wait would be that of another request. */
function waitOf({ reason, retryAfterMs }: Decision): string {
  if (reason === null) return '';
  if (retryAfterMs === Infinity) return 'never passes';
  if (!(retryAfterMs > 0)) return '';
  if (retryAfterMs < 1_000) return `${Math.ceil(retryAfterMs)} ms`;
  return `${Math.ceil(retryAfterMs / 100) / 10} s`;
}

/** What a client sends has no control characters that a terminal would obey, and no more room than its column. */
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
