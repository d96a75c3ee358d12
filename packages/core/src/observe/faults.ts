import { systemClock } from '../base/clock.js';
import { isOfTheCall, isSpillwayError, messageOf, seeHelp } from '../base/errors.js';
import { getOrMake } from '../base/get-or-make.js';
import { consoleLogger, type Logger } from '../base/host.js';
import { Junk } from '../base/junk.js';
import { RecentSubjects, warn } from '../base/log.js';
import type { Fault, Observer } from '../contract/observer.js';
import type { Store } from '../contract/store.js';
import { Observers } from './observers.js';

const INSTEAD: Readonly<Record<Fault['source'], string>> = {
  key: "the client's address is counted instead",
  cost: 'a cost of 1 is charged instead',
  plan: 'the declared numbers apply',
  period: 'the stored period goes on',
  item: 'one is counted instead',
  capacity: 'the default capacity applies instead',
  priority: 'the method decides the class instead',
  signal: 'the shedder continues without its readings',
  mode: 'the limit is enforced',
  control: 'what cannot be read counts as not set',
  skip: 'the request is not skipped',
  refundIf: 'nothing is refunded',
  scope: 'the request is rejected, unless onStoreError is allow',
  fingerprint: 'the body is compared instead',
  keepIf: 'the response is stored',
  decide: 'the limiter is skipped, or onStoreError decides',
  step: 'onStoreError decides',
  finish: 'nothing is refunded or released',
  store: 'onStoreError decides',
  observer: 'the decision stands',
  adapter: 'the request is answered anyway',
};

const QUIET_US = 60_000_000;
/** Error messages are cut off in log lines after this many UTF-16 units. */
const LONGEST = 200;

interface FaultLogOptions {
  readonly logger?: Logger | false | undefined;
  readonly breaker?: object | false | undefined;
  readonly onFault?: ((fault: Fault) => void) | undefined;
}

interface AdapterFaultOptions extends Pick<FaultLogOptions, 'onFault' | 'logger'> {
  readonly observers?: readonly Observer[] | undefined;
}

interface LastLine {
  readonly atUs: number;
  /** How often the fault has occurred since this line. */
  more: number;
}

/** By logger, so guards with the same logger share the limit of one line per minute. */
const lastLines = new WeakMap<Logger, RecentSubjects<LastLine>>();

function logFault(logger: Logger, fault: Fault, hasBreaker = false): void {
  const lines = getOrMake(lastLines, logger, () => new RecentSubjects<LastLine>());
  const id = idOf(fault);
  const last = lines.get(id);
  const nowUs = systemClock.nowUs();
  if (last && nowUs - last.atUs < QUIET_US) {
    last.more += 1;
    return;
  }
  // The breaker logs the start of an outage, so the first line comes a minute later, if the fault still occurs.
  const isOutage = fault.source === 'store' && !isOfTheCall(fault.error);
  const isLoggedByBreaker = hasBreaker && !last && isOutage;
  lines.set(id, { atUs: nowUs, more: isLoggedByBreaker ? 1 : 0 });
  if (isLoggedByBreaker) return;
  warn(logger, sentenceOf(fault) + timesOf(last, nowUs) + seeHelp(fault.error));
}

/** Faults with the same id share a log line per minute. A store fault affects all limiters. */
function idOf({ limiter, source, error }: Fault): string {
  if (source !== 'store') return `${source} ${limiter}`;
  return isSpillwayError(error) ? `store ${error.code} ${error.kind ?? ''}` : 'store';
}

function sentenceOf({ limiter, source, error }: Fault): string {
  const of = limiter === '' ? '' : `limiter "${limiter}": `;
  const message = messageOf(error);
  if (error instanceof Junk) return `${plain(message)}; ${INSTEAD[source]}.`;
  const name = error instanceof Error && !isSpillwayError(error) ? errorNameOf(error) : '';
  const what = source === 'store' ? 'the store failed' : `${source} failed`;
  return `${of}${what} with ${plain(name + message)}; ${INSTEAD[source]}.`;
}

/** The error's name; empty if it is not a string, because an app may set it to any value. */
function errorNameOf(error: Error): string {
  const name: unknown = error.name;
  return typeof name === 'string' ? `${name}: ` : '';
}

function timesOf(last: LastLine | undefined, nowUs: number): string {
  if (!last || last.more === 0) return '';
  const seconds = Math.round((nowUs - last.atUs) / 1_000_000);
  return ` It has happened ${last.more} more times in the last ${seconds} s.`;
}

/** One line without control characters, because an error's name and message may contain input. */
function plain(text: string): string {
  const line = text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ');
  return line.length > LONGEST ? `${line.slice(0, LONGEST - 3)}...` : line;
}

export function faultLogFor(
  { onFault, logger = consoleLogger(), breaker }: FaultLogOptions,
  store: Pick<Store, 'sync'> | undefined,
): ((fault: Fault) => void) | undefined {
  if (onFault || !logger) return undefined;
  const hasBreaker = breaker !== false && store?.sync === false;
  return (fault) => logFault(logger, fault, hasBreaker);
}

/**
 * Passes a fault to `onFault`, whose errors are ignored. Without `onFault`, logs it: at most one line per minute for
 * each limiter and source. Faults of the store have one line per minute for each kind of error. Default logger: the
 * console.
 */
export function tellFault(
  onFault: ((fault: Fault) => void) | undefined,
  fault: Fault,
  logger?: Logger | false,
): void {
  new Observers([{ onFault }], faultLogFor({ onFault, logger }, undefined)).fault(fault);
}

/** Reports a fault of an adapter that belongs to no guard. */
export function tellAdapterFault(options: AdapterFaultOptions, error: unknown): void {
  const all = [options as Observer, ...(options.observers ?? [])];
  const observers = new Observers(all, faultLogFor(options, undefined));
  observers.fault({ limiter: '', source: 'adapter', error });
}
