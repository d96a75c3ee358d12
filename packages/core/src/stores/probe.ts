/** Finds out when a part of a store that did not answer is back. */

import { fixedWindow } from '../algorithms/values.js';
import type { Clock } from '../base/clock.js';
import { isSpillwayError } from '../base/errors.js';
import { afterIdly } from '../base/host.js';
import type { Answer } from '../contract/ask.js';
import type { Step } from '../contract/store.js';
import type { Host } from '../contract/store-link.js';

/** So long after the last request the store is still asked at the full pace. */
const WANTED_US = 10_000_000;

/** The longest pause between two questions while nobody wants the store. */
const LONGEST_PAUSE_US = 5_000_000;

/** What a probe needs to know, and whom it tells. */
interface ProbeOptions {
  readonly sender: ProbeSender;
  /** A key that failed: it lies where the store failed. */
  readonly key: string;
  readonly everyUs: number;
  readonly clock: Clock;
  /** The store is back if it has answered well for so long; 0: with the first answer. */
  readonly healthyUs: () => number;
  /** Begins to time a question; what it returns says, at the answer, whether the store has answered well. */
  readonly begin: () => () => boolean;
  /** Told once, when the store is back. */
  readonly back: () => void;
  /** Told of each question that failed. */
  readonly failed: (error: unknown, question: Step) => void;
}

/**
 * Asks at once `everyUs` after the last question, by a timer; when nobody has wanted the store for ten seconds, in
 * pauses that grow to five seconds. Where a timer ends with the request that set it, the next request finds the
 * question overdue and asks itself.
 */
export class Probe {
  private question: Step;
  private askedUs: number;
  /** When the last question ended, or, if it has not, was asked. */
  private doneUs: number;
  private wantedUs: number;
  private pauseUs: number;
  /** Grows with each question: of one that was given up, the answer is not heard any more. */
  private turn = 0;
  private isUnderWay = false;
  /** The first of the answers in a row that were good. */
  private wellUs: number | undefined;
  private cancel: (() => void) | undefined;
  private readonly options: ProbeOptions;

  constructor(options: ProbeOptions) {
    this.options = options;
    const { key, everyUs, clock } = options;
    this.question = probeStep(key);
    this.askedUs = clock.nowUs();
    this.doneUs = this.askedUs;
    this.wantedUs = this.askedUs;
    this.pauseUs = everyUs;
    this.schedule();
  }

  /**
   * Somebody would have asked the store. Returns what is worth waiting for: the answer to a question that this request
   * has asked, because nobody did for long, or because nothing would keep the question alive after it.
   */
  noteDemand(host: Host | undefined): Promise<void> | undefined {
    const { everyUs, clock } = this.options;
    const nowUs = clock.nowUs();
    const wasIdle = nowUs - this.wantedUs > WANTED_US;
    this.wantedUs = nowUs;
    // The timer has had its time twice: it is slower now, or gone.
    if (nowUs - this.doneUs >= 2 * everyUs && !this.isAsking(nowUs)) {
      const answered = this.send();
      return !wasIdle && isKept(host, answered) ? undefined : answered;
    }
    if (this.pauseUs > everyUs) {
      this.pauseUs = everyUs;
      this.schedule();
    }
    return undefined;
  }

  /** From now on the question is about this key. */
  aimAt({ key }: Step): void {
    this.question = probeStep(key);
  }

  end(): void {
    this.turn += 1;
    this.cancel?.();
  }

  /** On some hosts a question is lost with the request that asked it. */
  private isAsking(nowUs: number): boolean {
    const { sender, everyUs } = this.options;
    return this.isUnderWay && nowUs - this.askedUs < sender.timeoutUs + everyUs;
  }

  private send(): Promise<void> {
    const { sender, clock, healthyUs, back, failed } = this.options;
    this.cancel?.();
    this.turn += 1;
    const { turn, question } = this;
    const isWell = this.options.begin();
    this.isUnderWay = true;
    this.askedUs = clock.nowUs();
    this.doneUs = this.askedUs;
    return Promise.resolve()
      .then(() => sender.sendProbe(question))
      .then(isWell, (error: unknown) => {
        if (turn === this.turn) failed(error, question);
        // An error about the question alone came from a store that decides.
        return isSpillwayError(error) && error.code === 'SPW_STORE_ERROR';
      })
      .then((isBack) => {
        if (turn !== this.turn) return;
        this.isUnderWay = false;
        this.doneUs = clock.nowUs();
        this.wellUs = isBack ? (this.wellUs ?? this.doneUs) : undefined;
        if (this.wellUs !== undefined && this.doneUs - this.wellUs >= healthyUs()) back();
        else this.scheduleNext();
      });
  }

  private scheduleNext(): void {
    const { everyUs, clock } = this.options;
    const isWanted = clock.nowUs() - this.wantedUs <= WANTED_US;
    const longerUs = Math.min(2 * this.pauseUs, LONGEST_PAUSE_US);
    this.pauseUs = isWanted ? everyUs : Math.max(everyUs, longerUs);
    this.schedule();
  }

  private schedule(): void {
    this.cancel?.();
    this.cancel = afterIdly(Math.ceil(this.pauseUs / 1000), () => {
      const { clock, everyUs } = this.options;
      // On a clock that is set by hand the time may not have come; a timer may come a little early.
      if (clock.nowUs() - this.doneUs < everyUs / 2) this.schedule();
      else if (!this.isAsking(clock.nowUs())) void this.send();
    });
  }
}

function isKept(host: Host | undefined, promise: Promise<void>): boolean {
  try {
    return host?.waitUntil?.(promise) === true;
  } catch {
    return false; // the request waits itself
  }
}

/** Sends a probe the way on which a call failed. */
export interface ProbeSender {
  /** How long {@link sendProbe} may take, in microseconds. */
  readonly timeoutUs: number;
  sendProbe(step: Step): readonly Answer[] | Promise<readonly Answer[]>;
}

/**
 * Charges something, for a second, that nobody counts: a store that can only read, or has no memory left, is not back.
 * No limiter can have this name, so that the count is nobody's.
 */
const PROBE: Omit<Step, 'key'> = {
  op: 'take',
  limiter: '\u0001probe',
  rule: /* @__PURE__ */ fixedWindow.makeRule(1_000_000, 1_000_000, 1_000_000, 'epoch'),
  cost: 1,
  binding: false,
};

/** The question, beside a key that failed: it lies where the store failed. */
function probeStep(key: string): Step {
  return { ...PROBE, key };
}
