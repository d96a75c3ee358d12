/**
 * Keeps in memory the responses that could not be written to the store. The write of a response is retried whenever the
 * step that marks the claim as done is sent again.
 */

import { LONGEST_US } from '../base/duration.js';
import { SpillwayError } from '../base/errors.js';
import { type Eventually, endsTimersWithRequests, outside } from '../base/host.js';
import { inTime, type Result } from '../base/within.js';
import type { KeepContext } from '../contract/keeping.js';
import type { ValueName } from '../contract/store.js';
import type { LateValue } from '../contract/upkeep.js';

/** The timeout of a write. A response waits for its write only with `keepFirst`. */
const WRITE_MS = 1_000;

/** Memory for one limiter's waiting responses. Each counts {@link OVERHEAD} plus its bytes, so at most 16,384 wait. */
const MOST_BYTES = 2 ** 24;
const OVERHEAD = 2 ** 10;

/** How many late responses are written at once, except on Workers. After a failure, none for 1 s. */
const LANES = 4;

/** How much longer than `keep` a response is kept: it is written before its claim is done, and must outlive it. */
const LONGER_US = 60_000_000;

export interface AnswerToWrite {
  readonly limiter: string;
  readonly name: ValueName;
  readonly bytes: Uint8Array;
  /** How long the response is stored, counted from the moment its claim is marked as done. */
  readonly keepUs: number;
  readonly context: KeepContext;
}

export function writeAnswer(
  { name, bytes, keepUs, context }: AnswerToWrite,
  sinceUs = 0,
): Eventually<Result<void>> {
  const ttlUs = Math.min(keepUs + LONGER_US - sinceUs, LONGEST_US);
  return inTime(WRITE_MS, (deadlineUs) =>
    context.values.set(name, bytes, ttlUs, { deadlineUs, background: true }),
  );
}

export class LateResponses {
  freeBytes: number = MOST_BYTES;
  private readonly lanes: Promise<unknown>[] = Array.from({ length: LANES }, async () => undefined);
  private lane = 0;
  private failedUs = Number.NEGATIVE_INFINITY;

  /** The response as a value to write later; undefined if the store rejected it as invalid. */
  lateAnswerFor(answer: AnswerToWrite, error: unknown): LateValue | undefined {
    const isInvalid = error instanceof SpillwayError && error.code === 'SPW_VALUE_INVALID';
    return isInvalid ? undefined : new LateAnswer(answer, this);
  }

  /** Returns whether the response was written. Never rejects. */
  writeAnswer(answer: AnswerToWrite, sinceUs: number): Promise<boolean> {
    const { clock } = answer.context;
    const attempt = async (): Promise<boolean> => {
      if (clock.nowUs() < this.failedUs + WRITE_MS * 1000) return false;
      const isWritten = 'value' in (await writeAnswer(answer, sinceUs));
      if (!isWritten) this.failedUs = clock.nowUs();
      return isWritten;
    };
    // On Workers a request cannot wait for the I/O of another request.
    if (endsTimersWithRequests()) return attempt();
    this.lane = (this.lane + 1) % LANES;
    const before = this.lanes[this.lane] as Promise<unknown>;
    const written = outside(() => before.then(attempt));
    this.lanes[this.lane] = written;
    return written;
  }
}

class LateAnswer implements LateValue {
  private markedUs: number | undefined;
  private heldBytes = 0;
  private answer: AnswerToWrite | undefined;
  private readonly all: LateResponses;

  constructor(answer: AnswerToWrite, all: LateResponses) {
    this.answer = answer;
    this.all = all;
  }

  get isMarked(): boolean {
    return this.markedUs !== undefined;
  }

  mark(): void {
    this.markedUs ??= this.answer?.context.clock.nowUs();
  }

  hold(): boolean {
    if (this.heldBytes > 0 || !this.answer) return true;
    const bytes = OVERHEAD + this.answer.bytes.length;
    if (bytes > this.all.freeBytes) return false;
    this.all.freeBytes -= bytes;
    this.heldBytes = bytes;
    return true;
  }

  async write(): Promise<boolean> {
    const { answer } = this;
    if (!answer) return true;
    const sinceUs = this.sinceUs(answer);
    if (sinceUs >= answer.keepUs) this.drop();
    else if (await this.all.writeAnswer(answer, sinceUs)) this.forget();
    return this.answer === undefined;
  }

  drop(): void {
    const { answer } = this;
    this.forget();
    answer?.context.fault({
      limiter: answer.limiter,
      source: 'store',
      error: new SpillwayError(
        'SPW_STORE_ERROR',
        'a response could not be written to the store and was dropped: retries of its request get 409',
      ),
    });
  }

  forget(): void {
    this.all.freeBytes += this.heldBytes;
    this.heldBytes = 0;
    this.answer = undefined;
  }

  private sinceUs({ context }: AnswerToWrite): number {
    return this.markedUs === undefined ? 0 : context.clock.nowUs() - this.markedUs;
  }
}
