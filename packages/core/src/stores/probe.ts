import { fixedWindow } from '../algorithms/values.js';
import type { Clock } from '../base/clock.js';
import { isSpillwayError } from '../base/errors.js';
import { afterIdly } from '../base/host.js';
import type { Answer } from '../contract/rule.js';
import type { Step } from '../contract/store.js';
import type { Host } from '../contract/store-link.js';

/** For this long after the last request, the store is still probed at the full rate. */
const WANTED_US = 10_000_000;

const LONGEST_PAUSE_US = 5_000_000;

interface ProbeOptions {
  readonly sender: ProbeSender;
  /** The key of a failed call, so that the probe goes to the same part. */
  readonly key: string;
  readonly everyUs: number;
  readonly clock: Clock;
  readonly healthyUs: () => number;
  /**
   * Called before an attempt. The returned function is called when the answer arrives, and returns whether it came fast
   * enough.
   */
  readonly startTiming: () => () => boolean;
  readonly back: () => void;
  readonly failed: (error: unknown, question: Step) => void;
}

/**
 * Asks a store that has failed whether it works again. A timer sends an attempt every `everyUs`. After ten seconds
 * without requests, the pauses grow to five seconds. Where timers end with the request that set them, the next request
 * finds the attempt overdue and sends it.
 */
export class Probe {
  private question: Step;
  private askedUs: number;
  /** When the last attempt ended, or was sent if it is still in flight. */
  private doneUs: number;
  private wantedUs: number;
  private pauseUs: number;
  private attempt = 0;
  private isUnderWay = false;
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
   * Call this when a request would have called the store. Sends an attempt if one is overdue. Returns the promise of
   * this attempt if the request must wait for it: after ten seconds without requests, or if nothing else would keep the
   * attempt alive.
   */
  noteDemand(host: Host | undefined): Promise<void> | undefined {
    const { everyUs, clock } = this.options;
    const nowUs = clock.nowUs();
    const wasIdle = nowUs - this.wantedUs > WANTED_US;
    this.wantedUs = nowUs;
    if (nowUs - this.doneUs >= 2 * everyUs && !this.isAsking(nowUs)) {
      const answered = this.sendProbe();
      return !wasIdle && isKept(host, answered) ? undefined : answered;
    }
    if (this.pauseUs > everyUs) {
      this.pauseUs = everyUs;
      this.schedule();
    }
    return undefined;
  }

  aimAt({ key }: Step): void {
    this.question = probeStep(key);
  }

  stopProbing(): void {
    this.attempt += 1;
    this.cancel?.();
  }

  /** Whether an attempt is in flight. On Workers it can end unanswered, with the request that sent it. */
  private isAsking(nowUs: number): boolean {
    const { sender, everyUs } = this.options;
    return this.isUnderWay && nowUs - this.askedUs < sender.timeoutUs + everyUs;
  }

  private sendProbe(): Promise<void> {
    const { sender, clock, healthyUs, back, failed } = this.options;
    this.cancel?.();
    this.attempt += 1;
    const { attempt, question } = this;
    const isWell = this.options.startTiming();
    this.isUnderWay = true;
    this.askedUs = clock.nowUs();
    this.doneUs = this.askedUs;
    return Promise.resolve()
      .then(() => sender.sendProbe(question))
      .then(isWell, (error: unknown) => {
        if (attempt === this.attempt) failed(error, question);
        // An error that concerns only this step shows that the store works.
        return isSpillwayError(error) && error.code === 'SPW_STORE_ERROR';
      })
      .then((isBack) => {
        if (attempt !== this.attempt) return;
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
      // With a manual clock, the time may not have come yet; timers can also fire slightly early.
      if (clock.nowUs() - this.doneUs < everyUs / 2) this.schedule();
      else if (!this.isAsking(clock.nowUs())) void this.sendProbe();
    });
  }
}

function isKept(host: Host | undefined, promise: Promise<void>): boolean {
  try {
    return host?.waitUntil?.(promise) === true;
  } catch {
    return false; // the request then awaits the attempt
  }
}

export interface ProbeSender {
  readonly timeoutUs: number;
  sendProbe(step: Step): readonly Answer[] | Promise<readonly Answer[]>;
}

/**
 * The probe writes, because a store that is read-only or out of memory does not work yet. Its count lives for a second,
 * under a name that no limiter can have.
 */
const PROBE: Omit<Step, 'key'> = {
  op: 'take',
  limiter: '\u0001probe',
  rule: /* @__PURE__ */ fixedWindow.makeRule(1_000_000, 1_000_000, 1_000_000, 'epoch'),
  cost: 1,
  binding: false,
};

function probeStep(key: string): Step {
  return { ...PROBE, key };
}
