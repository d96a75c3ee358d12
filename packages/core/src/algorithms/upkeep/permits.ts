/** Holds the permits and claims of a guard, renews them before they expire, and releases them. */

import { getOrMake } from '../../base/get-or-make.js';
import { after, isThenable } from '../../base/host.js';
import type { AnswerBase } from '../../contract/ask.js';
import type { Step } from '../../contract/store.js';
import type {
  ClaimContext,
  HeldTurn,
  LateValue,
  Upkeep,
  UpkeepClient,
  UpkeepOf,
} from '../../contract/upkeep.js';
import { LeaseCycle } from './lease-cycle.js';
import { hasFailed, MAX_STEPS_PER_TURN, releaseOf } from './lost-releases.js';

/**
 * If the step that ends a claim did not reach the store, it is sent again at least this often. Until it arrives or the
 * lease expires, the store rejects the client's retries of the request.
 */
const RESEND_CLAIMS_US = 5_000_000;

/**
 * If the release of a permit did not reach the store, it is sent again after this time to twice this time. Until it
 * arrives, other requests lack the permit.
 */
const RESEND_PERMITS_US = 20_000_000;

/**
 * How long a limiter may take to end its claim. `idempotency()` takes at most 1 s. Without this timeout, a claim that a
 * custom limiter never ends would be renewed as long as this process lives.
 */
const CLAIM_TIMEOUT_MS = 10_000;

export const permitUpkeep: UpkeepOf<Step> = (client, track) => new Permits(client, track);

class Permits implements Upkeep<Step> {
  private readonly permits = new Map<number, LeaseCycle>();
  private readonly claims = new Map<number, LeaseCycle>();
  private readonly client: UpkeepClient<Step>;
  private readonly track: <T>(call: Promise<T>) => Promise<T>;

  constructor(client: UpkeepClient<Step>, track: <T>(call: Promise<T>) => Promise<T>) {
    this.client = client;
    this.track = track;
  }

  begin({ step, answer }: HeldTurn<Step>, turns: readonly HeldTurn<Step>[]): boolean {
    const allowed = turns.every(({ decision }) => decision.allowed);
    // A rejected request holds a permit only if the store's answer was lost, or if the store granted the permit and a
    // local limiter rejected the request.
    const isHeld = answer?.failure || (answer?.allowed && (allowed || storeGranted(turns)));
    if (isHeld && allowed) this.cycleOf(step as Step).holdLease(step as Step);
    return Boolean(isHeld);
  }

  whenLost(step: Step, askedUs: number, lost: (isTaken: boolean) => void): void {
    this.cycleOf(step).whenLost(step, askedUs, lost);
  }

  writeLater(last: Step, value: LateValue): void {
    this.cycleOf(last).writeLater(last, value);
  }

  abandon(step: Step): void {
    this.cyclesOf(step).get(lengthOf(step))?.releaseLease(step);
  }

  release(step: Step, last: Step = releaseOf(step)): Step {
    this.cyclesOf(step).get(lengthOf(step))?.releaseLease(step, last);
    return last;
  }

  keepUp(): void {
    if (this.permits.size > 0) for (const cycle of this.permits.values()) cycle.keepUp();
    if (this.claims.size > 0) for (const cycle of this.claims.values()) cycle.keepUp();
  }

  catchUp(): void {
    for (const cycle of [...this.permits.values(), ...this.claims.values()]) cycle.catchUp();
  }

  get size(): number {
    let size = 0;
    for (const cycle of this.permits.values()) size += cycle.size;
    return size;
  }

  async close(endUs: number): Promise<void> {
    for (const cycle of this.claims.values()) void this.track(cycle.writeNow());
    const releases = [
      ...[...this.permits.values()].flatMap((cycle) => cycle.endLeases(true)),
      ...[...this.claims.values()].flatMap((cycle) => cycle.endLeases(false)),
    ];
    this.permits.clear();
    this.claims.clear();
    const { client } = this;
    for (let from = 0; from < releases.length; from += MAX_STEPS_PER_TURN) {
      const leftUs = endUs - client.clock.nowUs();
      const some = releases.slice(from, from + MAX_STEPS_PER_TURN);
      await Promise.all(
        some.map((release) => client.link.giveBack([release], (given) => given, leftUs)),
      );
    }
  }

  noteAnswers(steps: readonly Step[], answers: readonly AnswerBase[]): void {
    for (const [i, step] of steps.entries()) {
      if (!step.lease && !step.claim) continue;
      if (hasFailed(answers[i])) this.cycleOf(step).noteLost(step);
      else if (step.op === 'done') this.cyclesOf(step).get(lengthOf(step))?.noteDone(step);
    }
  }

  endClaim<Context extends ClaimContext>(
    step: Step,
    context: Context,
    ask: (context: Context) => readonly Step[] | Promise<readonly Step[]>,
  ): readonly Step[] | Promise<readonly Step[]> {
    const fault = (own: never): void => {
      context.fault(own);
      this.abandon(step); // otherwise the claim would be renewed as long as this process lives
    };
    const lasts = ask({ ...context, callbackTimeoutMs: CLAIM_TIMEOUT_MS, fault });
    const ended = (own: readonly Step[]) => own.map((last) => this.release(step, last));
    return isThenable(lasts) ? lasts.then(ended) : ended(lasts);
  }

  giveBackWith(
    claim: Promise<readonly Step[]>,
    steps: readonly Step[],
    giveBack: (steps: readonly Step[]) => Promise<void> | undefined,
    patienceMs: number,
  ): Promise<void> {
    return this.track(
      new Promise((resolve) => {
        let isLate = false;
        const cancel = after(patienceMs, () => {
          isLate = true;
          void giveBack(steps);
        });
        void claim.then((ends) => {
          cancel();
          resolve(giveBack(isLate ? ends : [...ends, ...steps]));
        });
      }),
    );
  }

  private cycleOf(step: Step): LeaseCycle {
    const cycles = this.cyclesOf(step);
    const leaseUs = lengthOf(step);
    return getOrMake(cycles, leaseUs, () => {
      const latestResendUs = cycles === this.claims ? RESEND_CLAIMS_US : RESEND_PERMITS_US;
      return new LeaseCycle(this.client, leaseUs, latestResendUs, this.track);
    });
  }

  private cyclesOf({ rule }: Step): Map<number, LeaseCycle> {
    return rule.machine === 'claims' ? this.claims : this.permits;
  }
}

function storeGranted(turns: readonly HeldTurn<Step>[]): boolean {
  return turns.every(({ step, answer }) => !step?.binding || !answer || answer.allowed);
}

function lengthOf({ rule }: Step): number {
  return rule.machine === 'leases' || rule.machine === 'claims' ? rule.leaseUs : Infinity;
}
