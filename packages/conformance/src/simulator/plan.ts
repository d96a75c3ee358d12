/** The plan of a history, as data: generated from a seed, and shrunk while it still fails. */

import * as core from '@spillway/core';
import { Random } from './random.js';
import type { ProcessClock } from './world.js';

type Core = typeof core;

/** The algorithms that core exports as values. */
type AlgorithmValue = {
  [Name in keyof Core]: Core[Name] extends core.RateAlgorithm ? Name : never;
}[keyof Core];

interface RatePlan {
  readonly name: string;
  readonly algorithm: AlgorithmValue | 'distinct';
  readonly limit: number;
  readonly windowMs: number;
  readonly burst: number | undefined;
  readonly debt: number | undefined;
  readonly locksMs: readonly number[] | undefined;
  readonly mode: 'enforce' | 'shadow';
}

/** One thing that a process does. */
export type Act = { readonly atUs: number; readonly process: number } & (
  | {
      readonly kind: 'consume' | 'peek';
      readonly key: string;
      readonly cost: number;
      readonly items: readonly string[];
      readonly asks: readonly number[];
      /**
       * When to send a rejected request again: at the end of the promised wait (0), or a microsecond earlier (-1).
       * Undefined: never.
       */
      readonly again: number | undefined;
    }
  | { readonly kind: 'refund'; readonly of: number; readonly twice: boolean }
  /** A request that is counted by calendar. */
  | { readonly kind: 'quota'; readonly key: string; readonly cost: number }
  | {
      readonly kind: 'request';
      readonly key: string;
      readonly critical: boolean;
      readonly holdUs: number;
      readonly releases: number;
    }
  | { readonly kind: 'once'; readonly id: string; readonly holdUs: number; readonly status: number }
  | {
      readonly kind: 'job';
      readonly key: string;
      /**
       * How long after its call the job's caller aborts it; undefined if never. A job that has started by then runs on.
       */
      readonly abortUs: number | undefined;
      /** How long the job runs, in plans with `jobsAtOnce`. */
      readonly holdUs: number;
    }
  | { readonly kind: 'pause'; readonly key: string; readonly forMs: number }
  /** A request whose cost is known at its end. */
  | {
      readonly kind: 'spend';
      readonly key: string;
      readonly reserve: number;
      /** Units that the request adds while it runs, `gapUs` apart. */
      readonly adds: readonly number[];
      readonly gapUs: number;
      /** The final units; undefined if the request is never settled. */
      readonly usage: number | undefined;
      /** Whether the request's client leaves before its end. */
      readonly isCut: boolean;
      /** How long after its end the request is settled. If undefined, it is settled just before its end. */
      readonly lateUs: number | undefined;
    }
  | { readonly kind: 'flood'; readonly rate: number; readonly keys: number }
  | {
      readonly kind: 'change';
      readonly rate: number;
      readonly limit: number;
      /** How long the change lasts; undefined means forever. */
      readonly forMs: number | undefined;
    }
);

/** The units that an act charges after its work if the limit has debt: up to three times the cost of the request. */
export function lateCost(cost: number, act: number): number {
  return cost * (act % 4);
}

export type Fault = { readonly atUs: number } & (
  | {
      readonly kind: 'weather';
      readonly forUs: number;
      readonly of: 'loseRequest' | 'loseReply' | 'repeat' | 'late';
      readonly share: number;
    }
  | { readonly kind: 'restart'; readonly keeps: 'all' | 'nothing' | 'replicated' }
  | { readonly kind: 'down' | 'hang'; readonly forUs: number }
  | { readonly kind: 'clock'; readonly byUs: number }
  | { readonly kind: 'freeze'; readonly process: number; readonly forUs: number }
  /** `deploy`: the process closes, and a process with the subject's other build takes its place. */
  | { readonly kind: 'kill' | 'deploy'; readonly process: number }
);

/** A kind of {@link Fault}. Each kind of weather, such as `late`, is a separate kind of fault. */
export type FaultKind =
  | Exclude<Fault['kind'], 'weather'>
  | Extract<Fault, { kind: 'weather' }>['of'];

/** The limit of `spend` acts. Its window is a day, so very little refills. */
interface SpendPlan {
  readonly limit: number;
  readonly debt: number;
  /** Whether a request whose client leaves costs only the units added, even if it reserved more. */
  readonly isPartial: boolean;
}

export interface QuotaPlan {
  readonly limit: number;
  readonly period: 'day' | 'month' | 'billing';
  /**
   * When one of the periods ends, counted from the beginning of the history. Negative if that is before the beginning.
   */
  readonly endsUs: number;
  /** Whether requests beyond the limit are admitted. */
  readonly isSoft: boolean;
  /** How long each of the two callbacks takes: the load from the app's records, and the report. */
  readonly callbackUs: number;
}

export interface Plan {
  readonly seed: number;
  readonly clocks: readonly ProcessClock[];
  readonly rates: readonly RatePlan[];
  readonly onStoreError: 'local' | 'allow' | 'deny';
  readonly permits: number;
  readonly leaseMs: number;
  readonly pace: { readonly limit: number; readonly windowMs: number; readonly burst: number };
  /** How many jobs of a key may run at once; undefined means any number. */
  readonly jobsAtOnce: number | undefined;
  readonly spend: SpendPlan | undefined;
  readonly quota: QuotaPlan | undefined;
  readonly acts: readonly Act[];
  readonly faults: readonly Fault[];
}

const DEFAULT = 'tokenBucket';

/** The default algorithm twice, and the others by name. Another order changes the histories of all seeds. */
const ALGORITHMS: readonly AlgorithmValue[] = [
  DEFAULT,
  DEFAULT,
  ...Object.entries(core)
    .flatMap(([value, own]) => ('makeRule' in own ? [{ value, name: own.name }] : []))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map(({ value }) => value as AlgorithmValue)
    .filter((value) => value !== DEFAULT),
];
const SECOND_US = 1_000_000;
const KEYS = ['ada', 'bob', 'eve'] as const;
/**
 * Keys for histories with outages, and for long histories with quotas. There are so many that most have units left when
 * an outage begins.
 */
const MANY_KEYS = Array.from({ length: 16 }, (_, at) => `key-${at}`);

type Activity =
  | 'rates'
  | 'changes'
  | 'permits'
  | 'claims'
  | 'jobs'
  | 'outages'
  | 'spending'
  | 'penalties'
  | 'quotas'
  | 'all';

/** Restricts what a history tests. The rest is random. */
export interface Focus {
  readonly focus?: Activity | undefined;
  /** The kinds of faults; empty for none. */
  readonly faults?: readonly FaultKind[] | undefined;
}

export function planOf(seed: number, size: number, chosen: Focus = {}): Plan {
  const random = new Random(seed);
  const lengthUs = random.pick([2, 8, 20]) * SECOND_US;
  const processes = random.between(1, 4);
  const clocks = Array.from({ length: processes }, () => ({
    driftPpm: random.chance(0.4) ? 0 : random.between(-200, 200),
    offsetUs: random.pick([0, 0, -3_600, 61, 86_400]) * SECOND_US,
  }));
  // Separate generators, so later additions don't change the rest of a seed's plan.
  const penalties = new Random(~seed);
  const spending = new Random(seed + 2 ** 29);
  const rates = Array.from({ length: random.between(1, 3) }, (_, at) => {
    const algorithm = random.pick(ALGORITHMS);
    return {
      name: `rate-${at}`,
      algorithm,
      limit: random.pick([1, 2, 3, 5, 7, 10, 40]),
      windowMs: random.pick([50, 333, 1_000, 1_000, 2_500, 7_001]),
      burst: random.pick([undefined, undefined, 1, 3, 12]),
      debt: undefined,
      locksMs:
        algorithm === 'fixedWindow'
          ? penalties.pick([undefined, [300], [200, 1_500], [900, 100, 4_001]])
          : undefined,
      mode: random.chance(0.12) ? ('shadow' as const) : ('enforce' as const),
    };
  });
  const usual = random.pick([
    'rates',
    'rates',
    'changes',
    'permits',
    'claims',
    'jobs',
    'outages',
    'all',
  ] as const);
  const swarm = swarmOf(seed);
  const quotas = new Random(seed + 2 ** 24);
  const isOnQuotas = quotas.chance(0.1);
  const focus = chosen.focus ?? (isOnQuotas ? 'quotas' : (swarm.focus ?? usual));
  const acts = actsOf(random, { focus, size, lengthUs, processes, rates: rates.length });
  const isCalm = focus !== 'outages' && random.chance(0.4);
  const usualFaults = (): Fault[] => (isCalm ? [] : faultsOf(random, focus, lengthUs, processes));
  const kinds = chosen.faults ?? swarm.faults;
  const faults = kinds ? faultsAmong(kinds, random, lengthUs, processes) : usualFaults();
  return {
    seed,
    clocks,
    rates: rates.map((rate, at) =>
      focus === 'penalties'
        ? withPenalty(rate, penalties)
        : onItems(withDebt(rate, new Random(seed + 2 ** 30)), new Random(seed + at + 2 ** 28)),
    ),
    onStoreError: random.pick(['local', 'local', 'local', 'allow', 'deny']),
    permits: random.pick([1, 2, 5]),
    leaseMs: random.pick([1_000, 1_000, 3_000]),
    pace: {
      limit: random.pick([1, 4, 7]),
      windowMs: random.pick([50, 200]),
      burst: random.pick([1, 1, 3]),
    },
    jobsAtOnce: new Random(seed + 2 ** 23).pick([undefined, undefined, undefined, 1, 2]),
    spend:
      focus === 'spending'
        ? {
            limit: spending.pick([100, 300, 20_000]),
            debt: spending.pick([1, 100, 5_000]),
            isPartial: spending.chance(0.3),
          }
        : undefined,
    quota: focus === 'quotas' ? quotaOf(quotas, lengthUs) : undefined,
    acts,
    faults,
  };
}

const ACTIVITIES = [
  'rates',
  'changes',
  'permits',
  'claims',
  'jobs',
  'outages',
  'spending',
  'penalties',
  'all',
] as const;

const FAULT_KINDS: readonly FaultKind[] = [
  'loseRequest',
  'loseReply',
  'repeat',
  'late',
  'restart',
  'down',
  'hang',
  'clock',
  'freeze',
  'kill',
  'deploy',
];

/**
 * Chooses the activity of half of the histories, and one to three kinds of faults for a third. Such narrow histories
 * often reveal bugs that a mix of everything hides. (Groce and others, "Swarm testing", ISSTA 2012.)
 */
function swarmOf(seed: number): Focus {
  const random = new Random(seed + 2 ** 26);
  const kinds = Array.from({ length: random.between(1, 3) }, () => random.pick(FAULT_KINDS));
  return {
    focus: random.chance(0.5) ? random.pick(ACTIVITIES) : undefined,
    faults: random.chance(0.35) ? kinds : undefined,
  };
}

function quotaOf(random: Random, lengthUs: number): QuotaPlan {
  return {
    limit: random.pick([2, 10, 40]),
    period: random.pick(['day', 'month', 'billing', 'billing']),
    endsUs: random.chance(0.7)
      ? random.between(0, lengthUs)
      : random.pick([-SECOND_US, 70 * SECOND_US]),
    isSoft: random.chance(0.2),
    callbackUs: random.pick([500, 40_000, 400_000, 1_500_000]),
  };
}

function onItems(rate: RatePlan, random: Random): RatePlan {
  const isSliding = rate.algorithm === 'slidingLog' || rate.algorithm === 'slidingWindow';
  return isSliding && random.chance(0.4) ? { ...rate, algorithm: 'distinct' } : rate;
}

/**
 * Gives some limits a debt. Uses separate random numbers, because the rest of a seed's plan must stay as it was before
 * debts were added.
 */
function withDebt(rate: RatePlan, random: Random): RatePlan {
  if (rate.algorithm !== 'tokenBucket' || !random.chance(0.4)) return rate;
  return { ...rate, debt: random.pick([1, 3, rate.limit, 5 * rate.limit]) };
}

function withPenalty(rate: RatePlan, random: Random): RatePlan {
  return {
    ...rate,
    algorithm: 'fixedWindow',
    limit: random.between(1, 3),
    locksMs: random.pick([
      [200, 1_500],
      [900, 100, 4_001],
    ]),
    mode: 'enforce',
  };
}

/**
 * About one job in five is aborted, unless it starts before that. Uses separate random numbers, because the rest of a
 * seed's plan must stay as it was before aborts were added.
 */
function jobAt(atUs: number): { abortUs: number | undefined; holdUs: number } {
  const random = new Random(atUs + 2 ** 25);
  return {
    abortUs: random.chance(0.2) ? random.pick([0, 3_000, 60_000, 400_000]) : undefined,
    holdUs: random.pick([0, 5_000, 60_000, 300_000]),
  };
}

interface Shape {
  readonly focus: Activity;
  readonly size: number;
  readonly lengthUs: number;
  readonly processes: number;
  readonly rates: number;
}

const KINDS: Readonly<Record<Activity, readonly Act['kind'][]>> = {
  rates: ['consume', 'consume', 'consume', 'consume', 'consume', 'refund', 'peek'],
  changes: [...Array<'consume'>(40).fill('consume'), 'flood', 'change'],
  permits: ['request', 'request', 'request', 'consume'],
  claims: ['once', 'once', 'once', 'consume'],
  jobs: [...Array<'job'>(12).fill('job'), 'consume', 'consume', 'pause'],
  outages: ['consume'],
  spending: ['spend'],
  penalties: ['consume', 'consume', 'consume', 'refund'],
  quotas: ['quota'],
  all: ['consume', 'consume', 'refund', 'request', 'once', 'job'],
};

function actsOf(random: Random, shape: Shape): Act[] {
  const { focus, size, lengthUs, processes, rates } = shape;
  // Acts of some activities, such as requests with bodies and responses, take longer to simulate.
  const scales = {
    rates: 1,
    changes: 1,
    permits: 0.6,
    claims: 0.15,
    jobs: 0.3,
    outages: 1,
    spending: 0.4,
    penalties: 1,
    quotas: 0.5,
    all: 0.4,
  };
  const scale = scales[focus];
  const count = Math.ceil(random.between(size / 2, size * 1.5) * scale);
  const acts: Act[] = [];
  let atUs = 0;
  const gapUs = lengthUs / count;
  for (let n = 0; n < count; n += 1) {
    // Acts come in bursts, with pauses between them.
    atUs += random.chance(0.5) ? random.between(0, 200) : random.around(gapUs * 2);
    acts.push(
      actOf(
        random,
        random.pick<Act['kind']>(KINDS[focus]),
        { atUs, process: random.between(0, processes - 1) },
        rates,
        focus === 'outages' || (focus === 'quotas' && lengthUs > 5 * SECOND_US) ? MANY_KEYS : KEYS,
      ),
    );
  }
  return acts;
}

function itemsAt(atUs: number): string[] {
  const random = new Random(atUs + 2 ** 27);
  return Array.from(
    { length: random.pick([1, 1, 1, 2, 4]) },
    () => `item-${Math.min(random.between(0, 11), random.between(0, 11))}`,
  );
}

function actOf(
  random: Random,
  kind: Act['kind'],
  base: Pick<Act, 'atUs' | 'process'>,
  rates: number,
  keys: readonly string[],
): Act {
  const isMostAsked = keys === KEYS && random.chance(0.7);
  const key = isMostAsked ? KEYS[0] : random.pick(keys);
  switch (kind) {
    case 'consume':
    case 'peek': {
      const all = Array.from({ length: rates }, (_, at) => at);
      const asks = random.chance(0.5) ? all : [random.pick(all)];
      const again = random.pick([undefined, undefined, undefined, 0, -1]);
      const cost = random.pick([1, 1, 1, 1, 2, 3, 0]);
      return { ...base, kind, key, cost, items: itemsAt(base.atUs), asks, again };
    }
    case 'quota':
      return { ...base, kind, key, cost: random.pick([1, 1, 1, 2, 5, 0]) };
    case 'refund':
      return { ...base, kind, of: random.between(1, 4), twice: random.chance(0.3) };
    case 'request':
      return {
        ...base,
        kind,
        key,
        critical: random.chance(0.2),
        holdUs: random.chance(0.1) ? random.between(0, 4_000_000) : random.around(60_000),
        releases: random.pick([1, 1, 1, 2, 2]),
      };
    case 'once':
      return {
        ...base,
        kind,
        id: `id-${random.between(0, 5)}`,
        holdUs: random.chance(0.4) ? random.between(0, 3_500_000) : random.around(50_000),
        status: random.pick([200, 200, 200, 201, 500, 503]),
      };
    case 'job':
      return { ...base, kind, key, ...jobAt(base.atUs) };
    case 'pause':
      return { ...base, kind, key, forMs: random.pick([5, 120, 700, 1_900]) };
    case 'spend': {
      const adds = Array.from({ length: random.between(0, 4) }, () => random.between(0, 120));
      return {
        ...base,
        kind,
        // If a request is alone on its key, the exact charge is known.
        key: base.atUs % 4 === 0 ? `alone-${base.atUs}` : key,
        reserve: random.pick([0, 1, 20, 90]),
        adds,
        gapUs: random.pick([1_000, 300_000, 1_100_000]),
        usage: random.chance(0.3) ? undefined : random.pick([0, 1, 20, 60, 175]),
        isCut: random.chance(0.6),
        lateUs: random.chance(0.25) ? random.pick([100, 40_000, 2_000_000]) : undefined,
      };
    }
    case 'flood':
      return { ...base, kind, rate: random.between(0, rates - 1), keys: random.between(5, 300) };
    case 'change':
      return {
        ...base,
        kind,
        rate: random.between(0, rates - 1),
        limit: random.between(1, 20),
        forMs: new Random(base.atUs + 2 ** 22).pick([undefined, 1_000, 2_500, 60_000]),
      };
  }
}

const FAULTS = [
  'weather',
  'weather',
  'weather',
  'restart',
  'restart',
  'down',
  'hang',
  'clock',
  'freeze',
  'freeze',
  'kill',
  'deploy',
] as const;

function faultsOf(
  random: Random,
  focus: Shape['focus'],
  lengthUs: number,
  processes: number,
): Fault[] {
  // In these activities, at least half of the faults freeze a process, which may then hold permits or claims.
  const isHeld = focus === 'claims' || focus === 'permits';
  let lastUs = 0;
  return Array.from({ length: random.between(1, 4) }, (_, at): Fault | Fault[] => {
    // Some faults come shortly after another fault, and meet the state that it left behind.
    const follows = at > 0 && random.chance(0.4);
    const ownUs = random.chance(0.15) ? 0 : random.between(0, lengthUs);
    const atUs = follows ? lastUs + random.between(0, 400_000) : ownUs;
    lastUs = atUs;
    if (focus === 'outages') return outageOf(random, atUs);
    // Outages make charges fail, which are then sent again.
    if (focus === 'spending' && random.chance(0.6)) return outageOf(random, atUs);
    const forUs = random.pick(FAULT_LENGTHS_US);
    const process = random.between(0, processes - 1);
    const kind = isHeld && random.chance(0.5) ? 'freeze' : random.pick(FAULTS);
    if (focus === 'quotas' && random.chance(0.4)) {
      return faultOf(random, 'restart', { atUs, forUs, process });
    }
    return faultOf(random, kind, { atUs, forUs, process });
  }).flat();
}

const FAULT_LENGTHS_US = [30_000, 300_000, 1_500_000, 3_000_000] as const;

function faultsAmong(
  kinds: readonly FaultKind[],
  random: Random,
  lengthUs: number,
  processes: number,
): Fault[] {
  if (kinds.length === 0) return [];
  return Array.from({ length: random.between(2, 5) }, () =>
    faultOf(random, random.pick(kinds), {
      atUs: random.between(0, lengthUs),
      forUs: random.pick(FAULT_LENGTHS_US),
      process: random.between(0, processes - 1),
    }),
  ).flat();
}

function faultOf(
  random: Random,
  kind: FaultKind | 'weather',
  base: { readonly atUs: number; readonly forUs: number; readonly process: number },
): Fault | Fault[] {
  const { atUs, forUs, process } = base;
  switch (kind) {
    case 'weather':
    case 'loseRequest':
    case 'loseReply':
    case 'repeat':
    case 'late': {
      const of =
        kind === 'weather'
          ? random.pick(['loseRequest', 'loseReply', 'repeat', 'late'] as const)
          : kind;
      return { atUs, kind: 'weather', forUs, of, share: random.pick([0.05, 0.5, 1]) };
    }
    case 'restart': {
      const restart = {
        atUs,
        kind,
        keeps: random.pick(['all', 'nothing', 'replicated'] as const),
      };
      if (random.chance(0.7)) return restart;
      // Messages that restore lost data on the restarted server may be lost, too.
      const of = random.pick(['loseRequest', 'loseReply'] as const);
      return [restart, { atUs, kind: 'weather', forUs, of, share: random.pick([0.05, 0.5]) }];
    }
    case 'clock':
      return { atUs, kind, byUs: random.pick([-5_000_000, -40_000, -1, 40_000, 3_000_000]) };
    case 'kill':
    case 'deploy':
      return { atUs, kind, process };
    case 'freeze':
      return { atUs, kind, process, forUs };
    default:
      return { atUs, kind, forUs };
  }
}

function outageOf(random: Random, atUs: number): Fault {
  const forUs = random.pick([500_000, 1_500_000, 3_000_000]);
  const kind = random.pick(['down', 'hang', 'weather'] as const);
  if (kind !== 'weather') return { atUs, kind, forUs };
  return { atUs, kind, forUs, of: random.pick(['loseRequest', 'loseReply'] as const), share: 1 };
}

/**
 * The smallest plan found that still fails. It is found by leaving out acts and faults, larger parts first.
 *
 * @param most the maximum number of plans to try
 */
export async function shrink(
  plan: Plan,
  fails: (plan: Plan) => Promise<boolean>,
  most: number = 400,
): Promise<Plan> {
  let best = plan;
  let left = most;
  const without = async <Part extends 'acts' | 'faults'>(part: Part): Promise<void> => {
    for (
      let size = Math.ceil(best[part].length / 2);
      size >= 1;
      size = size > 1 ? Math.ceil(size / 2) : 0
    ) {
      for (let from = 0; from < best[part].length && left > 0; left -= 1) {
        const tried = {
          ...best,
          [part]: (best[part] as readonly unknown[]).toSpliced(from, size),
        } as Plan;
        if (await fails(tried)) best = tried;
        else from += size;
      }
    }
  };
  await without('faults');
  await without('acts');
  return best;
}
