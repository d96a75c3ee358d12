/** Faults in words, for whoever gave no `onFault`: one line for each limiter and source a minute. */

import { type Clock, systemClock } from '../base/clock.js';
import { isSpillwayError, messageOf } from '../base/errors.js';
import type { Logger } from '../base/host.js';
import { consoleLogger, disregard } from '../base/host.js';
import { Junk } from '../base/junk.js';
import type { Fault } from '../contract/fault.js';
import type { Store } from '../contract/store.js';

/** What happens instead of what a fault has spoiled. */
const INSTEAD: Readonly<Record<Fault['source'], string>> = {
  key: "the client's address is counted instead",
  cost: 'a cost of 1 is charged instead',
  limit: 'the default limit counts instead',
  capacity: 'the default capacity counts instead',
  priority: 'the class is told by the method instead',
  mode: 'the limit is enforced',
  control: 'what cannot be read counts as not set',
  skip: 'the request is not skipped',
  refundIf: 'nothing is given back',
  decide: 'the request is decided without its answer',
  step: 'onStoreError decides',
  finish: 'nothing is given back',
  store: 'onStoreError decides',
  observer: 'the decision stands',
  adapter: 'the request is answered all the same',
};

const QUIET_US = 60_000_000;
/** How many limiters and sources are told apart; the oldest make room. */
const KEPT = 1_000;
/** Of an error's own message. */
const LONGEST = 200;

interface VoiceOptions {
  readonly logger?: Logger | false | undefined;
  readonly breaker?: object | false | undefined;
  readonly onFault?: ((fault: Fault) => void) | undefined;
}

interface Told {
  readonly atUs: number;
  /** How often it happened since, without a line. */
  more: number;
}

export class Voice {
  private readonly told = new Map<string, Told>();
  private readonly logger: Logger;
  private readonly clock: Clock;

  constructor(logger: Logger, clock: Clock = systemClock) {
    this.logger = logger;
    this.clock = clock;
  }

  /** `hasBreaker`: whether the store's own breaker tells when it does not answer. */
  tell(fault: Fault, hasBreaker = false): void {
    const id = idOf(fault);
    const before = this.told.get(id);
    const nowUs = this.clock.nowUs();
    if (before && nowUs - before.atUs < QUIET_US) {
      before.more += 1;
      return;
    }
    // The breaker tells of an outage that it sees. One that goes on, or that it never sees, is told here a minute
    // later.
    const isBreakers = hasBreaker && !before && isOutage(fault);
    this.note(id, { atUs: nowUs, more: isBreakers ? 1 : 0 });
    if (!isBreakers) this.say(sentenceOf(fault) + timesOf(before, nowUs));
  }

  /** Sources that are told apart now. */
  get size(): number {
    return this.told.size;
  }

  private note(id: string, told: Told): void {
    this.told.delete(id);
    this.told.set(id, told);
    if (this.told.size <= KEPT) return;
    const [oldest] = this.told.keys();
    this.told.delete(oldest as string);
  }

  private say(line: string): void {
    try {
      disregard(this.logger.warn(`Spillway: ${line}`));
    } catch {
      // A logger that fails has nobody left to tell.
    }
  }
}

/** A store's faults are the same for all its limiters. */
function idOf({ limiter, source, error }: Fault): string {
  if (source !== 'store') return `${source} ${limiter}`;
  return isSpillwayError(error) ? `store ${error.code} ${error.kind ?? ''}` : 'store';
}

/** Other errors than of one call open the breaker. */
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

/** Anybody may have made the error. */
function nameOf(error: Error): string {
  const name: unknown = error.name;
  return typeof name === 'string' ? `${name}: ` : '';
}

function timesOf(before: Told | undefined, nowUs: number): string {
  if (!before || before.more === 0) return '';
  const seconds = Math.round((nowUs - before.atUs) / 1_000_000);
  return ` It has happened ${before.more} times more in the last ${seconds} s.`;
}

/** One line without control characters, for an error's message may hold what a client has sent. */
function plain(text: string): string {
  const line = text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ');
  return line.length > LONGEST ? `${line.slice(0, LONGEST - 3)}...` : line;
}

/** How the faults of a guard or limiter are told; undefined if somebody else hears them, or nobody wants to. */
export function voiceFor(
  { onFault, logger = consoleLogger(), breaker }: VoiceOptions,
  store: Pick<Store, 'sync'> | undefined,
): ((fault: Fault) => void) | undefined {
  if (onFault || !logger) return undefined;
  const voice = voiceOf(logger);
  const hasBreaker = breaker !== false && store?.sync === false;
  return (fault) => voice.tell(fault, hasBreaker);
}

const VOICE = Symbol('spillway.voice');

/**
 * The one voice that speaks through a logger, whoever asks for it: what is told by one guard is not told again by the
 * next.
 */
export function voiceOf(logger: Logger, clock: Clock = systemClock): Voice {
  const owner = logger as Logger & { [VOICE]?: Voice };
  const known = owner[VOICE];
  if (known) return known;
  const voice = new Voice(logger, clock);
  if (Object.isExtensible(owner)) Object.defineProperty(owner, VOICE, { value: voice });
  return voice;
}
