/** Hands faults to `onFault`, or logs them: one line a minute for each limiter and source. */

import { systemClock } from '../base/clock.js';
import { isSpillwayError, messageOf, seeHelp } from '../base/errors.js';
import { consoleLogger, disregard, type Logger } from '../base/host.js';
import { Junk } from '../base/junk.js';
import { Remembered, warn } from '../base/log.js';
import type { Fault } from '../contract/observer.js';
import type { Store } from '../contract/store.js';

/** What Spillway does instead, by what failed. */
const INSTEAD: Readonly<Record<Fault['source'], string>> = {
  key: "the client's address is counted instead",
  cost: 'a cost of 1 is charged instead',
  plan: 'the declared numbers apply',
  capacity: 'the default capacity counts instead',
  priority: 'the method decides the class instead',
  signal: 'the shedder goes on without its readings',
  mode: 'the limit is enforced',
  control: 'what cannot be read counts as not set',
  skip: 'the request is not skipped',
  refundIf: 'nothing is given back',
  scope: 'the request is refused, unless onStoreError is allow',
  fingerprint: 'the body is compared instead',
  keepIf: 'the answer is kept',
  decide: 'the request is decided without its answer',
  step: 'onStoreError decides',
  finish: 'nothing is given back',
  store: 'onStoreError decides',
  observer: 'the decision stands',
  adapter: 'the request is answered all the same',
};

const QUIET_US = 60_000_000;
/** Of an error's message, in UTF-16 units. */
const LONGEST = 200;

interface VoiceOptions {
  readonly logger?: Logger | false | undefined;
  readonly breaker?: object | false | undefined;
  readonly onFault?: ((fault: Fault) => void) | undefined;
}

/** The last line about a limiter and source. */
interface LastLine {
  readonly atUs: number;
  /** How often the fault happened since, without a line. */
  more: number;
}

/** Writes faults to one logger. */
class FaultLog {
  private readonly lastLines = new Remembered<LastLine>();
  private readonly logger: Logger;

  constructor(logger: Logger) {
    this.logger = logger;
  }

  /** @param hasBreaker whether the store has a breaker, which logs when the store does not answer */
  tell(fault: Fault, hasBreaker = false): void {
    const id = idOf(fault);
    const last = this.lastLines.get(id);
    const nowUs = systemClock.nowUs();
    if (last && nowUs - last.atUs < QUIET_US) {
      last.more += 1;
      return;
    }
    // The breaker logs the beginning of an outage. If it lasts, or if the breaker does not see it, the next line a
    // minute later is ours.
    const isLoggedByBreaker = hasBreaker && !last && isOutage(fault);
    this.lastLines.set(id, { atUs: nowUs, more: isLoggedByBreaker ? 1 : 0 });
    if (isLoggedByBreaker) return;
    warn(this.logger, sentenceOf(fault) + timesOf(last, nowUs) + seeHelp(fault.error));
  }
}

/** A store's faults are one for all its limiters: they fail together. */
function idOf({ limiter, source, error }: Fault): string {
  if (source !== 'store') return `${source} ${limiter}`;
  return isSpillwayError(error) ? `store ${error.code} ${error.kind ?? ''}` : 'store';
}

/** Whether the breaker counts the fault: all errors of a store but those of one call. */
function isOutage({ source, error }: Fault): boolean {
  return source === 'store' && !(isSpillwayError(error) && error.code === 'SPW_STORE_ERROR');
}

function sentenceOf({ limiter, source, error }: Fault): string {
  const of = limiter === '' ? '' : `limiter "${limiter}": `;
  const text = plain(messageOf(error));
  if (error instanceof Junk) return `${text}; ${INSTEAD[source]}.`;
  const name = error instanceof Error && !isSpillwayError(error) ? nameOf(error) : '';
  const what = source === 'store' ? 'the store failed' : `${source} failed`;
  return `${of}${what} with ${name}${text}; ${INSTEAD[source]}.`;
}

/** The error may be of anybody's making, and so may its name. */
function nameOf(error: Error): string {
  const name: unknown = error.name;
  return typeof name === 'string' ? `${name}: ` : '';
}

function timesOf(last: LastLine | undefined, nowUs: number): string {
  if (!last || last.more === 0) return '';
  const seconds = Math.round((nowUs - last.atUs) / 1_000_000);
  return ` It has happened ${last.more} times more in the last ${seconds} s.`;
}

/** One line without control characters, for an error's message may hold what a client has sent. */
function plain(text: string): string {
  const line = text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ');
  return line.length > LONGEST ? `${line.slice(0, LONGEST - 3)}...` : line;
}

/** Logs the faults of a guard or limiter; undefined if `onFault` takes them, or `logger` is false. */
export function faultLogFor(
  { onFault, logger = consoleLogger(), breaker }: VoiceOptions,
  store: Pick<Store, 'sync'> | undefined,
): ((fault: Fault) => void) | undefined {
  if (onFault || !logger) return undefined;
  const voice = faultLogOf(logger);
  const hasBreaker = breaker !== false && store?.sync === false;
  return (fault) => voice.tell(fault, hasBreaker);
}

const voices = new WeakMap<Logger, FaultLog>();

/** The one Voice of a logger: guards that share a logger share the minute between two lines. */
function faultLogOf(logger: Logger): FaultLog {
  const voice = voices.get(logger) ?? new FaultLog(logger);
  voices.set(logger, voice);
  return voice;
}

/**
 * Calls `onFault`, which may throw; without one, logs a line, at most one a minute for each limiter and source. Default
 * logger: the console.
 */
export function tellFault(
  onFault: ((fault: Fault) => void) | undefined,
  fault: Fault,
  logger: Logger | false = consoleLogger(),
): void {
  try {
    if (onFault) disregard(onFault(fault));
    else if (logger) faultLogOf(logger).tell(fault);
  } catch {
    // Where `onFault` itself fails there is nobody else to call.
  }
}
