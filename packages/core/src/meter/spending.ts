import { isCost } from '../base/checks.js';
import { asError, mustBe } from '../base/errors.js';
import type { HostSignal } from '../base/host.js';
import type { RequestOutcome, StepsBack } from '../contract/limiter.js';
import type { LimiterTurn, Settling } from '../contract/limiter-turn.js';
import type { Reservation } from '../contract/metered-cost.js';
import { Charge } from './charge.js';
import type { Resends } from './resends.js';
import { greaterOf, isIn, isUsage, sumOf, timesOf } from './usage.js';

declare class AbortController {
  readonly signal: HostSignal;
  abort(reason: unknown): void;
}

const CHARGE_EVERY_US = 1_000_000;

/** The charge of a limit for a request, as {@link Spent.snapshot} shows it. */
export interface SpentOnLimit {
  /** The price of the reserved usage, before it was capped at `maxReserve`; 0 if no usage was reserved. */
  readonly requested: number;
  /** The units that this request costs, as far as they are known. */
  readonly charged: number;
  readonly remaining: number;
  /** Milliseconds until all units are available again. */
  readonly resetMs: number;
  /** Whether the numbers are estimated from the last answer of the store and the changes since then. */
  readonly estimated: boolean;
}

/** The usage of one request. Its methods never throw and never wait for the store. */
export interface Spent<Usage> {
  /**
   * Adds usage that was delivered since the last call; an object may omit components. Usage beyond the reservation is
   * charged while the request runs, at most once a second. An invalid usage is a fault and adds nothing. Has no effect
   * after `settle` or the end of the response.
   */
  add(usage: Partial<Usage>): void;
  /**
   * Sets the real usage, which replaces the reserved and the added usage. The difference is charged or refunded when
   * the response ends. After the end, a call takes effect immediately, unless a whole window has passed since. Only the
   * first call counts. An invalid usage is a fault. Returns false for a further call, for one that is too late, and for
   * an invalid usage.
   */
  settle(usage: Usage): boolean;
  /**
   * Aborts when the request has exceeded the limit and the debt of an enforced limiter, because further usage would not
   * be charged. Pass the signal to the call that causes the costs, such as `fetch`.
   */
  readonly signal: HostSignal;
  /**
   * The charge of each limit, by its name, to show in the body of the response. Empty if no limit charges the request.
   */
  snapshot(): Readonly<Record<string, SpentOnLimit>>;
}

/** A cut-off request costs what it owes, at least `perSecond` each second. Undefined: at least its reservation. */
export type Floor<Usage> = { readonly perSecond: Usage | undefined } | undefined;

interface Line<Usage> {
  readonly turn: LimiterTurn<never>;
  readonly price: (usage: Usage) => number;
  readonly charge: Charge;
  readonly settling: Settling;
  sentUs: number;
  endedUs: number | undefined;
}

export class Spending<Usage> implements Spent<Usage> {
  reserved: Reservation<Usage> | undefined;
  private added: Usage | undefined;
  private settled: Usage | undefined;
  /**
   * Set when the response has ended. A request that was not settled then costs `owed`, or its reservation if `keeps` is
   * set and the reservation is more.
   */
  private end: { readonly owed: Usage | undefined; readonly keeps: boolean } | undefined;
  private readonly lines: Line<Usage>[] = [];
  private readonly floor: Floor<Usage>;
  private controller: AbortController | undefined;
  private exceeded: string | undefined;

  constructor(floor: Floor<Usage>) {
    this.floor = floor;
  }

  get hasEnded(): boolean {
    return this.end !== undefined;
  }

  begin(
    turn: LimiterTurn<never>,
    price: (usage: Usage) => number,
    settling: Settling,
    resends: Resends,
  ): void {
    const { step, answer, decision, mode } = turn;
    if (!step || !answer) return;
    const { limiter } = decision;
    const onForgiven = (): void => {
      if (mode === 'enforce') this.exceed(limiter);
    };
    const context = { limiter, settling, resends, onForgiven };
    const charge = new Charge(step, answer, decision, context);
    const sentUs = settling.releases.client.clock.nowUs();
    this.lines.push({ turn, price, charge, settling, sentUs, endedUs: undefined });
  }

  add(usage: Partial<Usage>): void {
    if (this.settled !== undefined || this.end) return;
    const added = this.complete('add', usage as Usage, this.added);
    if (added === undefined) return;
    this.added = added;
    for (const line of this.lines) {
      const nowUs = line.settling.releases.client.clock.nowUs();
      if (nowUs < line.sentUs + CHARGE_EVERY_US) continue;
      const units = this.unitsOf(line);
      if (line.charge.excessOver(units) >= 0) continue;
      line.sentUs = nowUs;
      keepAlive(line, line.charge.settleNow(units));
    }
  }

  settle(usage: Usage): boolean {
    if (this.settled !== undefined) return false;
    const whole = this.complete('settle', usage);
    if (whole === undefined) return false;
    const { lines } = this;
    const late = lines.filter(isInWindow);
    if (this.end && lines.length > 0 && late.length === 0) return false;
    this.settled = whole;
    for (const line of late) keepAlive(line, line.charge.settleNow(this.unitsOf(line)));
    return true;
  }

  get signal(): HostSignal {
    this.controller ??= new AbortController();
    if (this.exceeded !== undefined) this.exceed(this.exceeded);
    return this.controller.signal;
  }

  snapshot(): Readonly<Record<string, SpentOnLimit>> {
    return Object.fromEntries(
      this.lines.map((line) => {
        const { charge, turn } = line;
        const requested = this.priceOf(line, this.reserved?.usage);
        const units = this.unitsOf(line);
        const { remaining, resetMs } = charge.numbers;
        const most = turn.decision.policy?.burst ?? Infinity;
        const left = Math.min(Math.max(remaining + charge.excessOver(units), 0), most);
        const estimated = !charge.isKnown(units);
        return [
          turn.decision.limiter,
          { requested, charged: units, remaining: left, resetMs, estimated },
        ];
      }),
    );
  }

  finish(turn: LimiterTurn<never>, outcome: RequestOutcome): StepsBack {
    const line = this.lines.find((own) => own.turn === turn);
    if (!line) return undefined;
    const { charge } = line;
    const isCut = outcome.aborted === true || (outcome.status ?? 200) >= 500;
    this.end ??= outcome.unhandled
      ? { owed: undefined, keeps: false }
      : this.endAfter(isCut, outcome.durationMs);
    line.endedUs = line.settling.releases.client.clock.nowUs();
    const units = this.unitsOf(line);
    if (this.settled === undefined) charge.tell(isCut ? 'cut' : 'silent', units);
    const steps = charge.settleAt(units);
    if (!('then' in steps)) return steps;
    keepAlive(line, charge.send(steps));
    return undefined;
  }

  private endAfter(isCut: boolean, durationMs: number): NonNullable<Spending<Usage>['end']> {
    const { owed, floor } = this;
    if (!isCut || !floor) return { owed, keeps: true };
    const { perSecond } = floor;
    if (perSecond === undefined) return { owed, keeps: false };
    return { owed: greaterOf(timesOf(perSecond, durationMs / 1000), owed), keeps: false };
  }

  /** All components that are reserved, which a price may read. */
  private get zeros(): Usage | undefined {
    return this.reserved && timesOf(this.reserved.usage, 0);
  }

  private get owed(): Usage | undefined {
    const atLeast = this.reserved?.atLeast;
    return this.added === undefined ? atLeast : sumOf(sumOf(this.added, this.zeros), atLeast);
  }

  /**
   * Returns a copy, with `before` added, that has all components that are reserved, because a price function must not
   * read undefined: those that the usage leaves out are 0. If the usage is invalid, reports a fault and returns
   * undefined.
   */
  private complete(method: string, usage: Usage, before?: Usage): Usage | undefined {
    try {
      if (isUsage(usage)) {
        const whole = sumOf(usage, before ?? this.zeros);
        if (isIn(usage, whole)) return whole;
      }
    } catch {
      // A getter of the usage or, if it reads a private field, of a copy failed.
    }
    const [line] = this.lines;
    const error = mustBe(`${method}()`, 'integers from 0', usage, 'SPW_COST_INVALID');
    const limiter = line?.turn.decision.limiter ?? '';
    line?.settling.observers.fault({ limiter, source: 'cost', error });
    return undefined;
  }

  private unitsOf(line: Line<Usage>): number {
    const { settled, end } = this;
    if (settled !== undefined) return this.priceOf(line, sumOf(settled, this.zeros));
    const units = this.priceOf(line, end ? end.owed : this.owed);
    return end && !end.keeps ? units : Math.max(units, line.charge.reserved);
  }

  /** If the price is invalid, reports a fault and returns the current charge, so that nothing changes. */
  private priceOf({ price, turn, settling, charge }: Line<Usage>, usage?: Usage): number {
    if (usage === undefined) return 0;
    let error: unknown;
    try {
      const units = price(usage);
      if (isCost(units)) return units;
      error = mustBe('a price', 'an integer from 0', units, 'SPW_COST_INVALID');
    } catch (thrown) {
      error = thrown;
    }
    settling.observers.fault({ limiter: turn.decision.limiter, source: 'cost', error });
    return charge.excessOver(0);
  }

  private exceed(limiter: string): void {
    this.exceeded = limiter;
    const text = `the request is beyond the limit and the debt of limiter "${limiter}"`;
    this.controller?.abort(Object.assign(asError(text), { name: 'AbortError' }));
  }
}

function isInWindow<Usage>({ endedUs, turn, settling }: Line<Usage>): boolean {
  const { windowMs = 0 } = turn.decision.policy ?? {};
  return (
    endedUs !== undefined && settling.releases.client.clock.nowUs() <= endedUs + windowMs * 1000
  );
}

/** Keeps the call running on platforms that stop all work of a request when the request ends. */
function keepAlive<Usage>({ turn }: Line<Usage>, call: Promise<unknown> | undefined): void {
  try {
    if (call) turn.request.waitUntil?.(call);
  } catch {
    // The call goes on, but the platform may stop it when the request ends.
  }
}
