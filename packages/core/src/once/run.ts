/** One run of a handler under a claim: collects the response, stores it, and ends the claim. */

import { afterIdly, isLater, isThenable } from '../base/host.js';
import { Junk } from '../base/junk.js';
import type { Result } from '../base/within.js';
import type { KeepContext, StoredExchange } from '../contract/keeping.js';
import type { StepsBack } from '../contract/limiter.js';
import type { LimiterTurn, ResponseEnd } from '../contract/limiter-turn.js';
import type { ResponseWatcher } from '../contract/recorder.js';
import type { Step } from '../contract/store.js';
import type { LateValue } from '../contract/upkeep.js';
import { noteText } from './claim-note.js';
import type { FinalResponse, Settings } from './idempotency-options.js';
import { type AnswerToWrite, type LateResponses, writeAnswer } from './late-responses.js';
import { type Comparing, type PendingFingerprint, takeFingerprint } from './request-fingerprint.js';
import {
  type AnswerRecord,
  encodeRecord,
  ResponseCollector,
  storedHeaders,
} from './stored-response.js';

/**
 * How long the claim stays open after the handler has responded, while a slow client still receives the response. If
 * the client is done sooner, one store call both ends the claim and releases the permits.
 */
const SLOW_CLIENT_MS = 1_000;

declare class AbortController {
  readonly signal: { readonly aborted: boolean };
  abort(): void;
}

export class Run<Raw> implements ResponseWatcher {
  /** Settles when the first write of the response has ended, no response is stored, or `maxRun` has passed. */
  readonly over: Promise<void>;
  private readonly controller = new AbortController();
  private readonly collected = new ResponseCollector();
  private last: Step | Promise<Step> | undefined;
  private isSent = false;
  /** Another owner has the claim, so nobody could read the response. */
  private isTaken = false;
  /** True after a disconnect or `maxRun`: the claim then ends as soon as the handler responds. */
  private isDetached = false;
  private resolveEnded: () => void = () => undefined;
  private cancel: () => void;
  private readonly turn: LimiterTurn<Raw>;
  private readonly step: Step;
  private readonly exchange: StoredExchange;
  private readonly context: KeepContext;
  private readonly settings: Settings<Raw>;
  private readonly lates: LateResponses;
  private late: LateValue | undefined;
  private fingerprint: PendingFingerprint | undefined;

  constructor(
    turn: LimiterTurn<Raw>,
    exchange: StoredExchange,
    context: KeepContext,
    settings: Settings<Raw>,
    lates: LateResponses,
    askedUs: number,
  ) {
    this.turn = turn;
    this.step = turn.step as Step;
    this.exchange = exchange;
    this.context = context;
    this.settings = settings;
    this.lates = lates;
    this.over = new Promise((resolve) => {
      this.resolveEnded = resolve;
    });
    this.cancel = this.expireLater();
    context.whenLost(this.step, askedUs, (isTaken) => {
      this.isTaken ||= isTaken;
      this.controller.abort();
    });
  }

  /**
   * Starts to record the request and its response, before the handler runs. If this returns a promise, the handler must
   * wait for it. If this throws, the handler runs anyway, but the response is not stored and the claim ends with the
   * response.
   *
   * @param own the digest of the value that `fingerprint` returned, if any
   */
  watchExchange(own: string | undefined, comparing: Comparing): Promise<void> | undefined {
    const { recorder } = this.exchange;
    const taken = takeFingerprint(this.turn.request, recorder, own, comparing);
    recorder.watchResponse(this);
    const noteFingerprint = (fingerprint: PendingFingerprint): void => {
      this.fingerprint = fingerprint;
    };
    return isLater(taken) ? taken.then(noteFingerprint) : void noteFingerprint(taken);
  }

  get signal(): { readonly aborted: boolean } {
    return this.controller.signal;
  }

  head(status: number, field: (name: string) => string | undefined): void {
    const { fields, keepBody, maxBody } = this.settings;
    this.collected.beginAnswer(status, storedHeaders(field, fields), keepBody ? maxBody : 0);
  }

  chunk(bytes: Uint8Array): boolean {
    return this.collected.addChunk(bytes);
  }

  end(): Promise<void> | undefined {
    if (this.last) return undefined;
    const isFirst = this.settings.keepFirst;
    this.conclude(this.collected.toRecord() ?? failed());
    if (isFirst) return this.sendClaim();
    this.sendSoon();
    return undefined;
  }

  fail(): void {
    if (this.last) return;
    this.conclude(this.collected.bodiless() ?? failed());
    this.sendSoon();
  }

  unsent(): void {
    this.cancel();
    this.last = undefined;
    this.late?.forget();
    this.isSent = false;
    this.cancel = this.expireLater();
  }

  /** Returns the steps that end the claim; undefined if the handler still runs or the steps were already sent. */
  finish({ status, aborted }: ResponseEnd): StepsBack {
    if (this.isSent) return undefined;
    if (!this.last && aborted) {
      this.isDetached = true;
      return undefined;
    }
    // The response bypassed the recorder, or the handler failed. The handler may have taken effect, so the claim ends
    // as done, unless the status or `keepIf` frees the key.
    if (!this.last) this.conclude(this.collected.bodiless() ?? failed(status));
    this.cancel();
    this.isSent = true;
    const last = this.last as Step | Promise<Step>;
    return isThenable(last) ? last.then((step) => [step]) : [last];
  }

  private expireLater(): () => void {
    return afterIdly(this.settings.maxRunMs, () => this.expire());
  }

  private expire(): void {
    if (this.last) return;
    const known = this.collected.bodiless();
    if (known) {
      this.conclude(known);
      void this.sendClaim();
      return;
    }
    this.isDetached = true; // if the handler responds later, the claim ends then
    this.context.abandon(this.step);
    this.controller.abort();
    this.resolveEnded();
  }

  private sendSoon(): void {
    if (this.isDetached) void this.sendClaim();
    else this.cancel = afterIdly(SLOW_CLIENT_MS, () => void this.sendClaim());
  }

  private async sendClaim(): Promise<void> {
    this.isSent = true;
    const { last } = this;
    const step = await (last as Step | Promise<Step>);
    if (this.last === last) await this.context.end(this.step, step); // not if `unsent` was called meanwhile
  }

  private conclude(record: AnswerRecord): void {
    this.cancel();
    this.last = this.shouldStore(record)
      ? this.keepAnswer(record)
      : ({ ...this.step, op: 'put' } satisfies Step);
    if (isThenable(this.last)) void this.last.then(this.resolveEnded);
    else this.resolveEnded();
  }

  private shouldStore({ status, fields }: AnswerRecord): boolean {
    // After 101 the connection changes protocol: there is no response to store.
    if (this.exchange.isAnswered() || status === 101 || this.settings.freeOn.has(status))
      return false;
    if (this.isTaken) return false;
    // For example, a parser rejected a truncated body: nothing was done.
    if (status >= 400 && status <= 499 && this.fingerprint?.isCut()) return false;
    return this.askApp({ status, fields });
  }

  private askApp(answer: FinalResponse): boolean {
    const { name, keepIf } = this.settings;
    try {
      const own: unknown = keepIf?.(answer, this.turn.request);
      if (own !== undefined && typeof own !== 'boolean') {
        throw new Junk(`keepIf of limiter "${name}"`, own);
      }
      return own !== false;
    } catch (error) {
      this.context.fault({ limiter: name, source: 'keepIf', error });
      return true;
    }
  }

  private keepAnswer(record: AnswerRecord): Step | Promise<Step> {
    const { limiter, key, claim } = this.step;
    const { keepUs, name: own } = this.settings;
    const name = { limiter, key, id: claim?.owner ?? '' };
    const { context } = this;
    const answer = { limiter: own, name, bytes: encodeRecord(record), keepUs, context };
    const written = writeAnswer(answer);
    const done = (result: Result<void>): Step => this.done(answer, result);
    return isLater(written) ? written.then(done) : done(written);
  }

  private done(answer: AnswerToWrite, written: Result<void>): Step {
    const { step, settings, context } = this;
    const isStored = 'value' in written;
    const known = this.fingerprint?.readFingerprint();
    const note = known ? noteText({ isStored, ...known }) : ''; // no valid note: retries get `not-kept`
    const last: Step = { ...step, op: 'done', claim: { id: '', owner: '', ...step.claim, note } };
    if ('error' in written) {
      context.fault({ limiter: settings.name, source: 'store', error: written.error });
      this.late = this.lates.lateAnswerFor(answer, written.error);
      if (this.late) context.writeLater(last, this.late);
    }
    return last;
  }
}

/** Returns the record of a response that is unknown because the handler failed or bypassed the recorder. */
function failed(status = 500): AnswerRecord {
  return { status, fields: [], body: undefined };
}
