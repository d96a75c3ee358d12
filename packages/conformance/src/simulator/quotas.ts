import type { Crossed, Guard, LimitRequest, Store } from '@spillway/core';
import type { QuotaPlan } from './plan.js';
import { EPOCH_US, type Process, type World } from './world.js';

const DAY_US = 86_400_000_000;
/** Billing periods whose starts are at most this far apart count as one. */
const SAME_US = 3_600_000_000;

export interface UsageRecord {
  readonly key: string;
  readonly units: number;
  readonly startUs: number;
  readonly trueUs: number;
  /** Whether the process admitted the request without the store. */
  readonly isLocal: boolean;
}

export interface Told extends Crossed {
  readonly process: Process;
  readonly trueUs: number;
}

/** A call of the app's function that loads the units used so far. */
export interface Load {
  readonly process: Process;
  readonly key: string;
  readonly fromUs: number;
  endUs?: number;
}

export interface QuotaCaller {
  readonly key: string;
  readonly cost: number;
}

/**
 * The app's database. It loses no data, but some of its loads and reports fail or hang. It also records the reports and
 * loads of all processes.
 */
export class QuotaBooks {
  readonly records: UsageRecord[] = [];
  readonly told: Told[] = [];
  readonly loads: Load[] = [];
  loadsSucceed = false;
  private readonly plan: QuotaPlan;
  private readonly world: World;

  constructor(plan: QuotaPlan, world: World) {
    this.plan = plan;
    this.world = world;
  }

  /** The guard of a process; undefined if its build lacks `restoreFrom`. */
  guard(
    core: typeof import('@spillway/core'),
    process: Process,
    store: Store,
  ): Guard<QuotaCaller> | undefined {
    if (!('restoreFrom' in core)) return undefined;
    const { calendar, createGuard, rateLimit, restoreFrom, thresholds } = core;
    const { limit, period, isSoft } = this.plan;
    const watching = { store, logger: false } as const;
    const window =
      period === 'billing' ? calendar<QuotaCaller>(() => this.billed(process)) : calendar(period);
    return createGuard<QuotaCaller>(
      rateLimit({
        name: 'quota',
        limit,
        window,
        key: ({ raw }: LimitRequest<QuotaCaller>) => raw.key,
        cost: ({ raw }: LimitRequest<QuotaCaller>) => raw.cost,
        ...(isSoft && { overage: 'allow' }),
      }),
      {
        store,
        logger: false,
        validate: false,
        observers: [
          thresholds({ quota: SHARES }, (crossed) => this.tell(process, crossed), watching),
          restoreFrom({ quota: (key, { start }) => this.load(process, key, start) }, watching),
        ],
      },
    );
  }

  startAt(serverUs: number): number {
    const lengthUs = this.plan.period === 'day' ? DAY_US : 31 * DAY_US;
    return serverUs < EPOCH_US ? EPOCH_US - lengthUs : EPOCH_US;
  }

  /** The billing period by the clock of a process, which may be a day ahead. */
  private billed(process: Process): { id: string; start: number; end: number } {
    const isNext = process.epochUs() >= EPOCH_US;
    const startUs = this.startAt(process.epochUs());
    const endUs = isNext ? startUs + 28 * DAY_US : EPOCH_US;
    return { id: isNext ? 'next' : 'first', start: startUs / 1_000, end: endUs / 1_000 };
  }

  private async tell(process: Process, crossed: Crossed): Promise<void> {
    const { world } = this;
    this.told.push({ ...crossed, process, trueUs: world.nowUs });
    await this.pass(process, this.plan.callbackUs);
    if (!this.loadsSucceed && this.told.length % 6 === 5)
      throw new Error('the mail server is down');
  }

  /** Loads the units used, as they were when the load began. */
  private async load(process: Process, key: string, start: Date): Promise<number> {
    const { world, loads } = this;
    const load: Load = { process, key, fromUs: world.nowUs };
    loads.push(load);
    const nth = this.loadsSucceed ? 0 : loads.length;
    const units = this.usedIn(key, start.getTime() * 1_000);
    await this.pass(process, nth % 7 === 4 ? HANGS_US : this.plan.callbackUs);
    load.endUs = world.nowUs;
    if (nth % 5 === 3) throw new Error('the database is down');
    return units;
  }

  private usedIn(key: string, startUs: number): number {
    return this.records
      .filter((one) => one.key === key && isSamePeriod(one.startUs, startUs))
      .reduce((sum, { units }) => sum + units, 0);
  }

  private pass(process: Process, us: number): Promise<void> {
    const { world } = this;
    return new Promise((resolve) => void world.at(world.nowUs + us, resolve, process));
  }
}

interface StartAndEnd {
  readonly startUs: number;
  readonly endUs?: number;
}

/**
 * The start of a period. If the store answers 0 because it does not know the start, the start is computed from the end.
 */
export function startOf({ startUs, endUs = 0 }: StartAndEnd): number {
  return startUs || endUs - 31 * DAY_US;
}

export const SHARES: readonly number[] = [0.5, 1];
const HANGS_US = 9_000_000;

export function isSamePeriod(startUs: number, otherUs: number): boolean {
  return Math.abs(startUs - otherUs) <= SAME_US;
}
